"""The short prompt of an order of one file: it shows the plan's tests, and only to be read."""

from __future__ import annotations

from typing import Any

from factory.attempt.apply_proposal import show_acceptance_files
from factory.orders.documents import ReplyFormat
from factory.proposal.prompt import has_short_prompt, render_short_prompt, show_added
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import ShownFile, elided_lines
from shared.languages.appended_tests import whole_tests
from shared.work_order.parse_order import EMPTY_SHA256, parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import writing

TEST = {"path": "test_score.py", "content": "def test_score():\n    assert 1 + 1 == 2\n"}
ABSENT = ShownFile("score.py", FileState(FileKind.ABSENT, EMPTY_SHA256), "")


def an_order(**changes: Any) -> WorkOrder:
    return parse_document(WorkOrder, writing("score.py", **changes))


def test_the_tests_of_the_plan_are_shown_whole() -> None:
    order = an_order(acceptance_files=[TEST], context_files=["test_score.py"])
    shown = (
        ABSENT,
        *show_acceptance_files(order, whole_tests(order.acceptance_files, lambda _: None)),
    )
    assert has_short_prompt(order, shown)
    prompt = render_short_prompt(order, shown, with_commands=False)
    block = f"```python\n{TEST['content']}```\n"
    assert f"test_score.py is there, and has to pass:\n\n{block}" in prompt


def test_a_long_test_needs_the_long_prompt() -> None:
    order = an_order(acceptance_files=[TEST | {"content": "x = 1\n" * 151}])
    assert not has_short_prompt(
        order,
        (
            ABSENT,
            *show_acceptance_files(order, whole_tests(order.acceptance_files, lambda _: None)),
        ),
    )


def test_it_says_the_title_what_is_forbidden_and_how_the_repo_is_verified() -> None:
    order = an_order(
        title="Count points", intent="Add them.", forbidden=["setup.py", "Use no eval."]
    )
    prompt = render_short_prompt(order, (ABSENT,), verification=("bash scripts/verify.sh",))
    assert prompt.startswith("Count points\n\nAdd them.\n\n")
    assert "These must stay untouched:\n- setup.py\n- Use no eval.\n" in prompt
    assert "afterwards:\n- bash scripts/verify.sh\n- " in prompt
    small = render_short_prompt(order, (ABSENT,), verification=("pytest",), with_commands=False)
    assert "pytest" not in small
    assert "setup.py" in small


def test_a_title_that_the_intent_says_is_not_said_twice() -> None:
    order = an_order(title="Add points", intent="Add points of all words.")
    assert render_short_prompt(order, (ABSENT,)).count("Add points") == 1


def test_the_same_is_asked_for_in_json_with_the_hash_of_the_file() -> None:
    prompt = render_short_prompt(an_order(), (ABSENT,), asked=ReplyFormat.JSON)
    assert f"## score.py\nbase_sha256: {EMPTY_SHA256}\nThis file does not exist yet." in prompt
    assert prompt.endswith(
        'Reply with JSON alone: {"summary": "in a sentence", "writes": [{"path": "score.py", '
        '"base_sha256": the hash above, "content": "the whole file"}]}\n'
    )
    assert '{"impossible": ' in prompt and "IMPOSSIBLE" not in prompt


def test_an_order_without_tests_has_the_prompt_that_it_had() -> None:
    assert "has to pass" not in render_short_prompt(an_order(), (ABSENT,))


LONG_TEST = "".join(f"def test_{number}():\n    assert {number}\n\n\n" for number in range(200))
MORE = "import os\n\n\ndef test_more():\n    assert os.sep\n"


def show_appended(before: str, added: str) -> ShownFile:
    order = an_order(acceptance_files=[{"path": "test_score.py", "append": added}])
    (shown,) = show_acceptance_files(order, whole_tests(order.acceptance_files, lambda _: before))
    return shown


def test_of_a_long_test_file_that_is_added_to_the_head_and_what_is_added_are_shown() -> None:
    shown = show_appended(f'"""Scores."""\n\nimport sys\n\n\n{LONG_TEST}', MORE)
    order = an_order(acceptance_files=[{"path": "test_score.py", "append": MORE}])
    assert has_short_prompt(order, (ABSENT, shown))
    prompt = render_short_prompt(order, (ABSENT, shown), with_commands=False)
    assert '"""Scores."""\n\nimport' in prompt
    assert "import os\n" in prompt
    assert " lines)\n" in prompt
    assert prompt.count("def test_") == 1
    assert "def test_more():\n    assert os.sep\n" in prompt


def test_of_a_class_that_gets_a_test_the_first_line_is_shown() -> None:
    methods = "".join(f"    def test_{number}(self):\n        pass\n\n" for number in range(100))
    before, last = (
        f"class TestScore:\n{methods}".rstrip() + "\n",
        "    def test_new(self):\n        pass\n",
    )
    shown = show_added(ShownFile("t.py", ABSENT.state, f"{before}\n{last}"), before)
    assert [*elided_lines(shown)] == [
        "class TestScore:",
        "    ... (299 lines)",
        "",
        *last.splitlines(),
    ]


def test_a_test_file_that_changes_otherwise_is_shown_whole() -> None:
    shown = show_added(ShownFile("t.py", ABSENT.state, LONG_TEST), f"import os\n{LONG_TEST}")
    assert shown.parts is None


def test_a_small_model_is_not_shown_examples_a_second_time() -> None:
    """It would copy the test's import into the file; and they cost tokens."""
    source = 'def f(n):\n    """Add one.\n\n    >>> f(1)\n    2\n    """\n'
    test = "from score import f\n\n\ndef test_f():\n    assert f(1) == 2\n"
    shown = (ShownFile("score.py", FileState(FileKind.FILE, "0" * 64), source),)
    for content, is_shown in ((test, False), (f"{test}    assert f(2) == 3\n", True)):
        placed = {"path": "tests/test_score.py", "content": content}
        order = an_order(intent="Write `f`.", acceptance_files=[placed])
        prompt = render_short_prompt(order, shown, with_commands=False)
        assert ("assert f(1) == 2" in prompt) is is_shown
        assert "assert f(1) == 2" in render_short_prompt(order, shown)
    other = an_order(intent="Write `g`.", acceptance_files=[{"path": "t.py", "content": test}])
    assert "assert f(1) == 2" in render_short_prompt(other, shown, with_commands=False)
