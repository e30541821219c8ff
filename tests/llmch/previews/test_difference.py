"""How two plans differ: by requirement, by order, and by field."""

from __future__ import annotations

import copy
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmch.previews.plan_difference import OrderChange, PlanDifference, compare_plans
from planner.plan.parse_plan import parse_plan
from tests.harness import order

BASE = {
    "work_orders": [order(1, covers=["R1"]), order(2, covers=["R2"]), order(3)],
    "requirements": [{"id": "R1", "text": "One."}, {"id": "R2", "text": "Two."}],
    "system_overview": ["What it is."],
}
FIELDS = ["title", "intent", "notes", "allowed_files", "acceptance_commands", "covers"]


def changed(**orders: dict[str, Any] | None) -> dict[str, Any]:
    """Return the plan with fields of `WO_01` and so on changed; `None` leaves the order out."""
    document: dict[str, Any] = copy.deepcopy(BASE)
    for each in [*document["work_orders"]]:
        fields = orders.get(each["id"].replace("-", "_"), {})
        if fields is None:
            document["work_orders"].remove(each)
        else:
            each.update(fields)
    return document


def compared(before: Any, after: Any, **more: Any) -> PlanDifference:
    return compare_plans(parse_plan(before), parse_plan(after), **more)


def test_a_plan_does_not_differ_from_itself() -> None:
    difference = compared(BASE, copy.deepcopy(BASE))
    assert difference.is_empty
    assert [each.change for each in difference.orders] == [OrderChange.KEPT] * 3


def test_where_an_order_comes_from_is_no_difference() -> None:
    origin = {"planner_run_id": "X", "compile_hash": "c", "manifest_sha256": "m"}
    assert compared(BASE, changed(WO_01={"provenance": origin, "verify_exempt": True})).is_empty


def test_each_kind_of_change_is_named() -> None:
    after = changed(WO_01={"notes": "Be brief.\nBe kind."}, WO_02=None)
    after["work_orders"].append(order(4, title="Say goodbye"))
    difference = compared(BASE, after)
    assert {each.id: each.change.value for each in difference.orders} == {
        "WO-01": "replaced",
        "WO-02": "withdrawn",
        "WO-03": "kept",
        "WO-04": "added",
    }
    (field,) = difference.orders[0].fields
    assert (field.field, field.lines) == ("notes", ("+Be brief.", "+Be kind."))


def test_a_line_that_looks_like_a_head_of_a_patch_is_kept() -> None:
    before, after = changed(WO_01={"notes": "a\n-- b\n@@ c"}), changed(WO_01={"notes": "a\n++ d"})
    (field,) = compared(before, after).orders[0].fields
    assert field.lines == (" a", "--- b", "-@@ c", "+++ d")


def test_the_plan_itself_may_differ() -> None:
    after = copy.deepcopy(BASE) | {"system_overview": "What it was."}
    difference = compared(BASE, after)
    assert not difference.is_empty
    assert [each.field for each in difference.fields] == ["system_overview"]
    assert difference.fields[0].lines == ("-What it is.", "+What it was.")


def test_very_long_texts_are_counted_and_not_compared() -> None:
    started = time.process_time()
    before = changed(WO_01={"notes": "a\nb\n" * 20_000})
    after = changed(WO_01={"notes": "b\na\n" * 20_000})
    (field,) = compared(before, after).orders[0].fields
    assert field.lines == ("-40,001 lines", "+40,001 lines")
    assert time.process_time() - started < 5


texts = st.text(st.sampled_from("ab\n-+@"), max_size=12)
values = st.one_of(texts, st.lists(texts, max_size=3), st.none(), st.just({"a": [[1]]}))
edits = st.dictionaries(st.sampled_from(FIELDS), values, max_size=3)


@given(edits, edits)
def test_any_two_plans_can_be_compared(one: dict[str, Any], two: dict[str, Any]) -> None:
    before, after = changed(WO_01=one, WO_02=None), changed(WO_01=two, WO_03=None)
    forth, back = compared(before, after), compared(after, before)
    opposite = {"added": "withdrawn", "withdrawn": "added"}
    assert {each.id: each.change for each in back.orders} == {
        each.id: opposite.get(each.change, each.change) for each in forth.orders
    }
    assert compared(before, before).is_empty
    for each in forth.orders:
        assert all(line[:1] in "+- " for field in each.fields for line in field.lines)
