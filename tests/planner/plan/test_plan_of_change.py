"""A model's reply to a request for one change becomes a plan of one order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import (
    Change,
    _said_once,
    new_test_for,
    order_without_model,
    plan_of_change,
    read_test_reply,
)
from planner.rules.judge_plan import judge
from shared.languages.capabilities import NewTest

FILES = ("shop.py", "till.py", "README.md")
CHANGE = Change("Refuse a negative number.", files=("till.py",))
REPLY: dict[str, Any] = {
    "title": "Refuse a negative number",
    "notes": "",
    "allowed_files": ["shop.py", "new.py"],
    "context_files": ["README.md"],
    "acceptance_commands": ['python -c "import shop; assert shop.price(1) == 3"'],
}


def test_what_follows_from_a_reply_is_not_asked_of_the_model() -> None:
    plan = plan_of_change(parse_plan(REPLY), CHANGE, FILES, ())
    (draft,) = plan.drafts
    assert draft.order is not None, draft.problems
    assert (draft.order.id, draft.order.intent) == ("WO-01", CHANGE.text)
    assert [each.path for each in draft.order.postconditions] == ["shop.py", "new.py"]
    assert draft.order.context_files == ("shop.py", "README.md", "till.py")
    assert not judge(plan, FILES).errors


def test_a_complete_order_alone_or_in_a_plan_is_the_same() -> None:
    once = plan_of_change(parse_plan(REPLY), CHANGE, FILES, ())
    assert plan_of_change(once, CHANGE, FILES, ()).document == once.document
    (draft,) = once.drafts
    assert plan_of_change(parse_plan(dict(draft.raw)), CHANGE, FILES, ()).document == once.document


def test_a_persons_test_takes_the_place_of_the_models() -> None:
    change = Change("Faster.", tests=("python -m pytest -q",))
    given_too = {**REPLY, "acceptance_files": [{"path": "tests/test_x.py", "content": "x = 1\n"}]}
    (draft,) = plan_of_change(parse_plan(given_too), change, FILES, change.tests).drafts
    assert draft.order is not None
    assert draft.order.acceptance_commands == draft.order.regression == change.tests
    assert draft.order.acceptance_files == ()


@pytest.mark.parametrize("entries", [[REPLY, REPLY], [], "x", None, [3]])
def test_any_other_number_of_orders_is_a_finding(entries: Any) -> None:
    plan = plan_of_change(parse_plan({"work_orders": entries}), CHANGE, FILES, ())
    (finding, *_) = judge(plan, FILES).errors
    assert "one order" in finding.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("shop.py"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*REPLY, "postconditions", "work_orders"]), JSON) | JSON)
def test_no_reply_is_beyond_judgement(document: Any) -> None:
    judge(plan_of_change(parse_plan(document), CHANGE, FILES, ()), FILES)


def test_what_was_asked_is_the_text_that_the_model_gets() -> None:
    change = Change("Faster.", ("a.py", "b.py"), ("pytest -q a",))
    assert change.render() == (
        "Faster.\n\nFiles that matter: a.py, b.py\n\nIt is tested by `pytest -q a`.\n"
    )
    beside = change.render(shown=("a.py",))
    assert beside == "Faster.\n\nFiles that matter: b.py\n\nIt is tested by `pytest -q a`.\n"


def test_a_new_test_goes_where_the_language_has_it() -> None:
    text = "def cash():\n    return 1\n\n\nclass Till:\n    def count(self):\n        return 2\n"
    assert new_test_for("src/shop/till.py", text, "", FILES) == NewTest(
        "tests/test_till.py",
        "python -m pytest -q tests/test_till.py",
        "a file tests/test_till.py for pytest, which begins with "
        "`from shop.till import cash, Till`",
        ("cash", "Till"),
    )
    again = new_test_for("till.py", "", "", {*FILES, "tests/test_till.py"})
    assert again is not None and again.path == "tests/test_till_2.py"
    assert again.asked.endswith("`from till import *`")


def test_a_new_test_in_go_is_beside_its_code() -> None:
    for folder in ("", "a/b/"):
        found = new_test_for(f"{folder}till.go", "", "", FILES)
        assert found is not None
        assert (found.path, found.command) == (f"{folder}till_test.go", f"go test ./{folder}")


@pytest.mark.parametrize(
    "source",
    ["README.md", "till.js", "my-till.py", "01.py", "a b/till.py", "x;true/till.go", "__init__.py"],
)
def test_where_a_test_would_have_no_path_that_works_none_is_asked_for_alone(source: str) -> None:
    assert new_test_for(source, "", "", FILES) is None


def test_a_package_is_imported_by_its_name() -> None:
    found = new_test_for("shop/__init__.py", "", "", FILES)
    assert found is not None
    assert (found.path, found.asked[-len("`from shop import *`") :]) == (
        "tests/test_shop.py",
        "`from shop import *`",
    )


def test_a_test_that_a_person_names_is_not_to_be_written() -> None:
    change = Change("Faster.", ("tests/test_till.py", "till.py", "till_test.go", "README.md"))
    assert change.sources == ("till.py", "README.md")
    document = read_test_reply("```\ndef test_a(): ...\n```", change, ALONE).plan.document
    assert isinstance(document, dict)
    assert document["allowed_files"] == ["till.py", "README.md"]


ALONE = NewTest("tests/test_till.py", "python -m pytest -q tests/test_till.py", "")


def test_the_longest_block_is_the_test_and_the_rest_follows() -> None:
    said = "Run:\n\n```sh\npytest\n```\n\n```python\ndef test_a():\n    assert True\n```\nDone."
    reply = read_test_reply(said, CHANGE, ALONE)
    assert reply.plan.document == {
        "title": "Refuse a negative number",
        "notes": "",
        "allowed_files": ["till.py"],
        "acceptance_files": [
            {"path": "tests/test_till.py", "content": "def test_a():\n    assert True\n"}
        ],
        "acceptance_commands": ["python -m pytest -q tests/test_till.py"],
    }


@given(st.text(alphabet="`~\n ab{}", max_size=80))
def test_any_reply_to_the_question_for_a_test_is_read(text: str) -> None:
    reply = read_test_reply(text, CHANGE, ALONE)
    assert reply.plan.is_json or reply.plan.problems


def test_of_a_block_without_an_end_what_is_whole_counts() -> None:
    begun = "```python\ndef test_a():\n    assert a(1) == 1\n    assert a("
    reply = read_test_reply(begun, CHANGE, ALONE)
    assert isinstance(reply.plan.document, dict)
    assert reply.plan.document["acceptance_files"] == [
        {"path": "tests/test_till.py", "content": "def test_a():\n    assert a(1) == 1\n"}
    ]
    forgotten = read_test_reply("```python\ndef test_a():\n    assert a(1) == 1\n", CHANGE, ALONE)
    assert forgotten.plan.document == reply.plan.document  # the fence alone is missing
    for nothing in ("```python\nassert a(", "No.", "```\n\n```", "```"):
        (problem,) = read_test_reply(nothing, CHANGE, ALONE).plan.problems
        assert "fenced block" in problem.message


def test_a_test_of_its_own_copy_is_refused() -> None:
    test = NewTest("tests/test_till.py", "true", "", ("cash",))
    copy = "```\nfrom till import cash\n\ndef cash():\n    return 1\n\ndef test_a():\n    pass\n```"
    (problem,) = read_test_reply(copy, CHANGE, test).plan.problems
    assert "defines cash itself" in problem.message


def test_a_long_sentence_is_a_subject_of_whole_words() -> None:
    reply = read_test_reply("```\nx\n```", Change("word " * 40, ("a.py",)), ALONE)
    assert isinstance(reply.plan.document, dict)
    title = reply.plan.document["title"]
    assert isinstance(title, str) and len(title) <= 72 and title.endswith("word")


STUB = 'def total(prices):\n    """Return the sum.\n\n    >>> total([1, 2])\n    3\n    """\n'


def small(asked: str, *tests: str, text: str = STUB) -> Change:
    new = None if tests else new_test_for("till.py", text, asked, FILES)
    return Change(asked, ("till.py",), tests, new, is_for_small=True)


def test_examples_in_the_documentation_of_what_is_to_be_written_are_the_test() -> None:
    known = order_without_model(small("Write `total`. Prices are whole numbers."))
    assert known is not None and isinstance(known.plan.document, dict)
    assert known.plan.document == {
        "title": "Write `total`",
        "notes": "",
        "allowed_files": ["till.py"],
        "acceptance_files": [
            {
                "path": "tests/test_till.py",
                "content": "from till import total\n\n\ndef test_total():\n"
                "    assert total([1, 2]) == 3\n",
            }
        ],
        "acceptance_commands": ["python -m pytest -q tests/test_till.py"],
    }


def test_an_order_follows_from_tests_that_a_person_names() -> None:
    known = order_without_model(small("Faster.", "python -m pytest -q tests/test_old.py"))
    assert known is not None and isinstance(known.plan.document, dict)
    assert known.plan.document["allowed_files"] == ["till.py"]


@pytest.mark.parametrize(
    "change",
    [
        None,
        Change("Write `total`.", ("till.py",), ("pytest -q",)),
        small("Make it faster."),
        small("Write `total`.", text=STUB + "    return 1\n"),
        small("Write `total`.", text=STUB.replace("3", "the sum")),
        Change("Faster.", (), ("pytest -q",), is_for_small=True),
    ],
)
def test_otherwise_a_model_is_asked(change: Change | None) -> None:
    assert order_without_model(change) is None


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), min_size=1))
def test_what_repeats_itself_at_the_end_is_said_once(before: list[str], again: list[str]) -> None:
    said = [*before, *again, *again, *again]
    kept = _said_once(said)
    assert len(kept) <= len(before) + 2 * len(again)
    assert said[: len(kept)] == kept
    assert _said_once([*"abcd", "end"]) == [*"abcd", "end"]


def test_a_fence_that_is_opened_over_and_over_is_read_at_once() -> None:
    reply = read_test_reply("```python\n" * 100_000, CHANGE, ALONE)
    assert not reply.plan.is_json
