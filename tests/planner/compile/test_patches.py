"""Revisions hold what changes alone; the rest of a plan stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.compile.patches import Ask, orders_of, put_together
from planner.plan.parse_plan import read_reply
from shared.events.events import Warned
from tests.planner.planning import Planner
from tests.planner.plans import creating, exists, plan

FAULTY = creating(2, "b.py", preconditions=exists("missing.py"))
PLAN = plan(creating(1, "a.py", notes="ä: café"), FAULTY, creating(3, "c.py"))
MEND: dict[str, Any] = {"revised": [{"id": "WO-02", "preconditions": []}]}


def put(patch: object, before: object = PLAN, *, renumber: bool = True) -> tuple[Any, list[str]]:
    """Return the document that a patch makes, and what is wrong with the patch."""
    reply = read_reply(json.dumps(patch))
    made = put_together(json.dumps(before), [(Ask(""), reply)], renumber=renumber).reply.plan
    return made.document, [f"{each.at}: {each.message}" for each in made.problems]


def ids(document: Any) -> list[str]:
    return [each["id"] for each in document["work_orders"]]


def test_a_patch_changes_its_fields_and_nothing_else(planner: Planner) -> None:
    result = planner.plan(PLAN, MEND)
    assert (result.ok, result.attempts, result.work_orders) == (True, 2, 3)
    before, after = PLAN["work_orders"], planner.record("compile/manifest_raw_attempt_2.json")
    others = [json.dumps(each) for each in (before[0], before[2])]
    assert [json.dumps(after["work_orders"][n]) for n in (0, 2)] == others
    assert after["work_orders"][1] == {**FAULTY, "preconditions": []}
    assert json.loads(planner.text("compile/llm_raw_response_attempt_2.txt")) == MEND


def test_a_patch_for_an_order_that_does_not_exist_is_a_finding(planner: Planner) -> None:
    astray = {"revised": [*MEND["revised"], {"id": "WO-09", "notes": "x"}]}
    result = planner.plan(PLAN, astray, {"revised": []})
    assert (result.ok, result.attempts) == (True, 3)
    assert "[E000] plan revised[1]: 'WO-09' is not an order of the plan" in planner.prompts[2]
    assert "missing.py" not in planner.prompts[2].partition("# Revision")[2]


def test_a_plan_that_is_refused_twice_alike_is_not_paid_for_again(planner: Planner) -> None:
    result = planner.plan(PLAN, {"revised": []}, max_attempts=5)
    assert (result.ok, result.attempts, len(planner.prompts)) == (False, 2, 2)
    (warned,) = planner.seen(Warned)
    assert "attempt 2 repeats the plan that was refused at attempt 1" in warned.message
    assert "--planner-model" in warned.message


@pytest.mark.parametrize("text", ["no JSON", json.dumps(PLAN)])
def test_any_reply_that_is_refused_twice_alike_is(planner: Planner, text: str) -> None:
    assert planner.plan(text, text, max_attempts=5).attempts == 2


def test_a_patch_that_cannot_be_read_leaves_the_plan_to_the_next_one(planner: Planner) -> None:
    result = planner.plan(PLAN, "I would rather not.", MEND)
    assert (result.ok, result.attempts) == (True, 3)
    last = planner.prompts[2].partition("# Revision")[2]
    assert "[E101] WO-02" in last and "[E000] plan" in last and json.dumps(FAULTY) in last


def test_a_claim_of_the_reviewer_is_answered_by_a_patch(planner: Planner) -> None:
    good = plan(creating(1, "a.py", notes="It returns a number."), creating(2, "b.py"))
    claim = {"work_order": "WO-01", "claim": "Wrong", "evidence": "It returns a number."}
    mended = {"revised": [{"id": "WO-01", "notes": "It returns a text."}]}
    result = planner.plan(good, mended, reviews=[{"findings": [claim]}, {"findings": []}])
    assert (result.ok, result.attempts) == (True, 2)
    assert planner.record("output/WO-01.json")["notes"] == "It returns a text."


def test_orders_are_added_removed_and_numbered_by_their_places() -> None:
    new = creating(4, "new.py", after="WO-01", depends_on=["WO-01"])
    document, problems = put({"added": [new], "removed": ["WO-02"], "system_overview": ["x"]})
    assert (ids(document), problems) == (["WO-01", "WO-02", "WO-03"], [])
    files = [each["allowed_files"] for each in document["work_orders"]]
    assert files == [["a.py"], ["new.py"], ["c.py"]]
    assert (document["system_overview"], "after" in document["work_orders"][1]) == (["x"], False)
    kept, _ = put({"added": [creating(7, "d.py")], "removed": ["WO-02"]}, renumber=False)
    assert ids(kept) == ["WO-01", "WO-03", "WO-07"]
    other, _ = put({"revised": [{"id": "WO-03", "new_id": "WO-05"}]}, renumber=False)
    assert ids(other) == ["WO-01", "WO-02", "WO-05"]


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ({"revised": {"id": "WO-01"}}, "revised: must be a list"),
        ({"revised": [7]}, "revised[0]: is not an order with"),
        ({"revised": [{"notes": "x"}]}, "revised[0]: is not an order with"),
        ({"revised": [{"id": "WO-01"}, {"id": "WO-01"}]}, "revised[1]: WO-01 is revised twice"),
        ({"revised": [{"id": "x" * 10_000}]}, f"revised[0]: '{'x' * 20}' is not an order"),
        ({"removed": ["WO-77"]}, "removed[0]: 'WO-77' is not an order"),
        ({"removed": [None]}, "removed[0]: 'None' is not an order"),
        ({"added": [{"title": "x"}]}, "added[0]: is not a whole order"),
        ({"added": [creating(1, "x.py")]}, "added[0]: WO-01 is an order of the plan already"),
        ({"added": [creating(9, "x.py", after="WO-8")]}, "added[0]: comes after 'WO-8'"),
        ({"added": [creating(9, "x.py", after=[1])]}, "added[0]: comes after '[1]'"),
        ({"answer": 42}, ": holds neither `revised`"),
    ],
)
def test_a_patch_with_a_fault_changes_nothing_and_says_so(patch: object, problem: str) -> None:
    document, problems = put(patch)
    assert ids(document) == ids(PLAN)
    assert document["work_orders"][1:] == PLAN["work_orders"][1:]
    assert any(problem in each for each in problems), problems


ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from(["WO-01", "WO-02", "WO-9"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "after", "new_id", "notes", "revised", "added", "removed"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["revised", "added", "removed", "x"]), ANYTHING))
def test_no_patch_raises_and_orders_that_it_does_not_name_stay(patch: dict[str, Any]) -> None:
    document, _ = put(patch)
    if "WO-03" not in json.dumps(patch) and not (patch.get("added") or patch.get("removed")):
        assert document["work_orders"][2] == PLAN["work_orders"][2]


def test_only_orders_with_ids_of_their_own_are_revised_in_parts() -> None:
    assert orders_of("prose") is None
    assert orders_of(json.dumps(plan(creating(1, "a"), creating(1, "b")))) is None
    assert orders_of(json.dumps(plan(creating(1, "a"), 7))) is None
    assert orders_of(json.dumps({"title": "one order", "allowed_files": []})) is None
    whole = {"work_orders": [creating(1, "z.py")]}
    assert put(whole) == (whole, [])


def test_assumptions_follow_orders_that_move_and_are_shown_where_one_is_at_fault(
    planner: Planner,
) -> None:
    said = {"kind": "question", "text": "Which?", "reading": "All.", "requirements": []}
    before = {
        **plan(creating(1, "a.py"), creating(2, "b.py"), creating(3, "c.py")),
        "assumptions": [
            {**said, "work_orders": ["WO-01", "WO-03"]},
            {**said, "text": "Who?", "work_orders": ["WO-01"]},
        ],
    }
    moved, _ = put({"removed": ["WO-01"]}, before)
    assert [each["work_orders"] for each in moved["assumptions"]] == [["WO-02"]]
    before["assumptions"][1]["work_orders"] = ["WO-09"]
    result = planner.plan(before, {"assumptions": before["assumptions"][:1]})
    assert (result.ok, [each.text for each in result.assumptions]) == (True, ["Which?"])
    assert "[E303] plan assumptions[1].work_orders" in planner.prompts[1]
    assert '"text": "Who?"' in planner.prompts[1]
