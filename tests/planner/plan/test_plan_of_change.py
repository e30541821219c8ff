"""A model's reply to a request for one change becomes a plan of one order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import Change, plan_of_change
from planner.rules.judge_plan import judge

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
