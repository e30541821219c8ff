"""What a plan says of the plans before it, and what that changes for the rules."""

from __future__ import annotations

from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from planner.rules.repair import repair_plan
from tests.planner.plans import findings, order, plan

LINEAGE = {"manifest_sha256": "a" * 64, "title": "First"}
WITHDRAWN = [{"id": "WO-02", "reason": "Removed."}]
MADE_BEFORE = {"planner_run_id": "r", "compile_hash": "c", "manifest_sha256": "a" * 64}
MADE_NOW = MADE_BEFORE | {"manifest_sha256": "b" * 64}


def following(*orders: Any, **top: Any) -> Any:
    return plan(*orders, supersedes=LINEAGE, withdrawn=WITHDRAWN, **top)


def test_a_withdrawn_order_leaves_a_gap_without_a_fault() -> None:
    assert findings(following(order(1), order(3))) == []
    assert findings(following(order(1), order(4))) == ["E001 WO-04 id"]


def test_without_a_plan_before_nothing_was_withdrawn() -> None:
    assert findings(plan(order(1), order(3), withdrawn=WITHDRAWN)) == ["E001 WO-03 id"]


def test_an_order_may_take_away_what_an_earlier_plan_was_asked_for() -> None:
    required = [{"id": "R1", "text": "It is kept."}]
    first = order(1, covers=["R1", "R9"], provenance=MADE_BEFORE)
    later = order(3, covers=["R9"], provenance=MADE_NOW)
    assert findings(following(first, later, requirements=required)) == []
    unknown = order(3, covers=["R8"], provenance=MADE_NOW)
    assert findings(following(first, unknown, requirements=required)) == ["E301 WO-03 covers[0]"]


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("supersedes", {"earlier": []}, "supersedes"),
        ("withdrawn", "WO-02", "withdrawn"),
        ("withdrawn", [{"id": "WO-02"}], "withdrawn[0]"),
        ("not_removed", [{"requirement": "a b", "reason": "r"}], "not_removed[0]"),
    ],
)
def test_what_cannot_be_read_is_a_fault_of_the_document(key: str, value: Any, field: str) -> None:
    assert f"E000 plan {field}" in findings(following(order(1)) | {key: value})


def test_orders_of_a_plan_that_follows_another_one_are_not_renumbered() -> None:
    document = following(order(1), order(4))
    repaired = repair_plan(parse_plan(document), judge)
    assert repaired.plan.document == document
    assert repaired.fixes == ()


def test_history_has_no_findings_and_leaves_its_files_to_the_repo() -> None:
    broken = order(1, title=7, postconditions=[{"kind": "file_exists", "path": "a.txt"}])
    needs = order(2, preconditions=[{"kind": "file_exists", "path": "a.txt"}])
    assert findings(plan(broken, needs)) == ["E005 WO-01 title"]
    assert findings(plan(broken, needs), ["a.txt"], history=["WO-01"]) == []
    assert findings(plan(broken, needs), history=["WO-01"]) == ["E101 WO-02 preconditions[0]"]
