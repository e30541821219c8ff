"""What a plan reads into its specification: each reading is tied, bounded, and stays there."""

from __future__ import annotations

from typing import Any

import pytest

from planner.plan.manifest import PlanOrigin, build_manifest
from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import skip_bootstrap
from planner.rules.judge_plan import judge
from planner.rules.repair import repair_plan
from shared.work_order.work_order import MAX_ASSUMPTIONS, MAX_SAID, question_id
from tests.planner.plans import Document, creating, findings, messages, order, plan

LISTED = [{"id": "R1", "text": "Say hello."}]


def assumption(**fields: Any) -> Document:
    defaults = {"kind": "question", "text": "To whom?", "reading": "To all.", "requirements": []}
    return {**defaults, "work_orders": ["WO-01"], **fields}


def assuming(*entries: Any, **top: Any) -> Document:
    return plan(order(1, covers=["R1"]), requirements=LISTED, assumptions=[*entries], **top)


def test_what_is_tied_to_orders_and_requirements_is_no_fault() -> None:
    assert findings(assuming(assumption(requirements=["R1"]), assumption())) == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"requirements": ["R7"]}, "requirements"),
        ({"work_orders": ["WO-01", "WO-09"]}, "work_orders"),
        ({"work_orders": []}, "work_orders"),
    ],
)
def test_what_is_tied_to_nothing_is_named(fields: Document, field: str) -> None:
    assert findings(assuming(assumption(), assumption(**fields))) == [
        f"E303 plan assumptions[1].{field}"
    ]


@pytest.mark.parametrize(
    "entry",
    [
        assumption(kind="guess"),
        assumption(text=" "),
        assumption(reading="x" * (MAX_SAID + 1)),
        assumption(reading=7),
        "To whom?",
        {"text": "To whom?"},
    ],
)
def test_another_form_is_refused_where_it_is(entry: Any) -> None:
    assert findings(assuming(assumption(), entry)) == ["E000 plan assumptions[1]"]


def test_a_thousand_assumptions_are_refused() -> None:
    many = [assumption(text=f"Question {number}?") for number in range(1000)]
    (said,) = messages(assuming(*many))
    assert said == f"is not a list of at most {MAX_ASSUMPTIONS} entries"
    assert findings(assuming(*many[:MAX_ASSUMPTIONS])) == []


def test_plans_without_any_are_as_before() -> None:
    document = plan(order(1))
    sealed = build_manifest(parse_plan(document), (), PlanOrigin("01RUN", "c" * 64))
    assert "assumptions" not in sealed.model_dump(mode="json")


def test_the_manifest_has_them_and_its_hash_covers_them() -> None:
    one, other = (
        build_manifest(parse_plan(assuming(each)), (), PlanOrigin("01RUN", "c" * 64))
        for each in (assumption(), assumption(reading="To one."))
    )
    assert [each.reading for each in one.assumptions] == ["To all."]
    assert one.provenance and other.provenance
    assert one.provenance.manifest_sha256 != other.provenance.manifest_sha256


def test_the_id_of_a_question_follows_from_its_words() -> None:
    assert question_id("To  whom?\n") == question_id("to whom?") != question_id("To who?")


def test_an_order_that_is_renumbered_is_named_by_its_new_id() -> None:
    document = plan(order(1), order(3), assumptions=[assumption(work_orders=["WO-01", "WO-03"])])
    document["work_orders"][1]["id"] = "WO-3"
    document["assumptions"][0]["work_orders"][1] = "WO-3"
    repaired = repair_plan(parse_plan(document), lambda each: judge(each))
    assert [each.work_orders for each in repaired.plan.assumptions] == [("WO-01", "WO-02")]


def test_orders_that_are_left_out_take_what_rests_on_them_alone_along() -> None:
    document = plan(
        creating(1, "scripts/verify.sh"),
        creating(2, "a.txt"),
        assumptions=[
            assumption(text="Which shell?"),
            assumption(text="Which text?", work_orders=["WO-01", "WO-02"]),
        ],
    )
    kept = skip_bootstrap(parse_plan(document), ("scripts/verify.sh",))
    assert [(each.text, each.work_orders) for each in kept.assumptions] == [
        ("Which text?", ("WO-01",))
    ]
