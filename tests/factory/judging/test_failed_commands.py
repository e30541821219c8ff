"""A command that failed is told as facts that the next attempt can act on, on a real repo."""

from __future__ import annotations

import pytest

from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from tests.fakes import proposal
from tests.harness import Factory, Json, commit_all, order

SLUG = "def slug(text):\n    return text.lower()\n\n\ndef ratio(a, b):\n    return a / b\n"


def ordered(command: str) -> Json:
    return order(allowed_files=["slugs.py"], acceptance_commands=[command])


def brief_after(factory: Factory, command: str, text: str = SLUG) -> FailureBrief:
    """Return the brief of an attempt that wrote `text`, which `command` does not accept."""
    summary = factory.run(ordered(command), [proposal({"slugs.py": text})], max_attempts=1)
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert brief.stage is Stage.ACCEPTANCE_FAILED
    return brief


@pytest.mark.rest
@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ("assert slug('A B') == 'a-b'", "`slug('A B')` returned 'a b', expected 'a-b'"),
        ("assert 'a-b' == slug('A B')", "`slug('A B')` returned 'a b', expected 'a-b'"),
        ("assert slug('') == None, 'none'", "`slug('')` returned '', expected None (none)"),
        ("assert slug('a') != 'a'", "`slug('a')` returned 'a', expected anything but 'a'"),
        ("assert '-' in slug('A')", "`slug('A')` returned 'a', expected it to contain '-'"),
        ("assert slug('A') in ('b', 'c')", "`slug('A')` returned 'a', expected one of ('b', 'c')"),
        ("assert not slug('A')", "`slug('A')` returned 'a', expected a false value"),
        ("assert slug('')", "`slug('')` returned '', expected a true value"),
        (
            "assert isinstance(slug('A'), bytes)",
            "`slug('A')` returned 'a' of type str, expected an instance of bytes",
        ),
        (
            "assert 0 < ratio(4, 2) < 1",
            "`ratio(4, 2)` returned 2.0, expected a value less than 1",
        ),
        (
            "assert slug('A') == 'a' and slug('B ') == 'b'",
            "`slug('B ')` returned 'b ', expected 'b'",
        ),
        (
            "assert all(slug(x) == y for x, y in [('A', 'a'), ('B ', 'b')])",
            "`slug(x)` returned 'b ', expected 'b' (`y`) (`x` is 'B ')",
        ),
        (
            "ratio(1, 0)",
            "`ratio(1, 0)` raised ZeroDivisionError: division by zero "
            "(slugs.py, line 6: `return a / b`)",
        ),
        (
            "assert ratio(3, slug('A')) == 1",
            "`ratio(3, slug('A'))` raised TypeError: unsupported operand type(s) for /: 'int' and "
            "'str' (slugs.py, line 6: `return a / b`)",
        ),
    ],
)
def test_an_assertion_in_a_command_is_told_with_its_values(
    factory: Factory, code: str, fact: str
) -> None:
    brief = brief_after(factory, f'python -c "from slugs import slug, ratio; {code}"')
    assert brief.facts == (fact,)
    assert brief.log == "attempt_1/logs/accept_1.stderr.log"


def test_what_observing_prints_is_no_part_of_the_record_of_the_command(factory: Factory) -> None:
    brief = brief_after(factory, "python -c \"from slugs import slug; assert slug('A') == 'x'\"")
    assert brief.primary_error_excerpt.endswith("AssertionError")
    assert "llmch-observed" not in brief.primary_error_excerpt
    logs = factory.run_folder / "attempt_1/logs"
    assert "llmch-observed" not in (logs / "accept_1.stderr.log").read_text()
    assert "llmch-observed" in (logs / "accept_1_values.stderr.log").read_text()


CHECKED = """def test_slug():
    for text in ("a", "a b"):
        assert slug(text) == text, f"Counterexample: {text!r}: " + "x" * 5000
"""


@pytest.mark.rest
def test_an_input_that_a_test_found_is_in_the_brief_bounded(factory: Factory) -> None:
    test = f"from slugs import slug\n\n\n{CHECKED}"
    commit_all(factory.repo, {"test_slugs.py": test})
    text = "def slug(text):\n    print('\\x1b[31mnoise\\n' * 2000)\n    return text.strip('b')\n"
    brief = brief_after(factory, "python -m pytest -q test_slugs.py", text)
    (found,) = brief.counterexamples
    assert found.startswith("test_slug: 'a b': xxx")
    assert len(found) <= 400
    assert "Counterexample: 'a b': xxx" in brief.primary_error_excerpt
    assert FailureBrief.model_validate_json(brief.model_dump_json()) == brief


def test_a_brief_without_such_an_input_has_no_key_for_it(factory: Factory) -> None:
    brief = brief_after(factory, 'python -c "import slugs; assert 0"')
    assert "counterexamples" not in brief.model_dump(mode="json")


def test_code_that_forges_a_report_is_told_as_the_command_printed_it(factory: Factory) -> None:
    forged = 'import os\nos.write(2, b"llmch-observed:{[1")\nos._exit(1)\n'
    brief = brief_after(factory, 'python -c "import slugs"', forged)
    assert brief.facts == ()


def test_code_that_fails_only_once_is_told_by_its_first_output(factory: Factory) -> None:
    commit_all(factory.repo, {".gitignore": "mark\n"})
    code = (
        "import os\nmark = 'mark'  # ignored, so it stays\n"
        "if not os.path.exists(mark):\n    open(mark, 'w').close()\n    x\n"
    )
    brief = brief_after(factory, 'python -c "import slugs"', code)
    assert brief.facts == ("NameError: name 'x' is not defined (slugs.py, line 5: `x`)",)


@pytest.mark.rest
def test_the_log_of_a_brief_is_the_one_that_holds_the_error(factory: Factory) -> None:
    test = "from slugs import slug\n\n\ndef test_slug():\n    assert slug('A B') == 'a-b'\n"
    commit_all(factory.repo, {"test_slugs.py": test})
    brief = brief_after(factory, "python -m pytest -q test_slugs.py")
    assert brief.log == "attempt_1/logs/accept_1.stdout.log"
    assert brief.facts == (
        "In test_slug (test_slugs.py, line 5): `slug('A B')` returned 'a b', expected 'a-b'",
    )
