"""What becomes of files, order by order, and in all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmch.previews.plan_preview import (
    Effect,
    FileEffect,
    count_effects,
    landed_effects,
    planned_effects,
)
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import order

NAMES = st.sampled_from(["a.py", "b.py", "c/d.py", "test_a.py"])


def work_order(**fields: object) -> WorkOrder:
    return parse_document(WorkOrder, order(1, **fields))


@st.composite
def orders(draw: st.DrawFn) -> WorkOrder:
    tests = [{"path": each, "content": "x = 1\n"} for each in draw(st.sets(NAMES, max_size=2))]
    return work_order(
        allowed_files=draw(st.lists(NAMES, min_size=1, max_size=3)),
        removed_files=draw(st.lists(NAMES, max_size=2)),
        acceptance_files=tests,
    )


def after(effects: tuple[FileEffect, ...], there: set[str]) -> set[str]:
    gone = {each.path for each in effects if each.effect is Effect.REMOVED}
    return (there | {each.path for each in effects}) - gone


@given(st.lists(orders(), max_size=5), st.frozensets(NAMES))
def test_each_effect_fits_the_files_before_it(
    chain: list[WorkOrder], present: frozenset[str]
) -> None:
    there = set(present)
    effects = planned_effects(chain, present)
    for each in effects:
        assert len({file.path for file in each}) == len(each)
        for file in each:
            if file.effect is not Effect.REMOVED:
                assert (file.effect is Effect.CHANGED) == (file.path in there)
        there = after(each, there)
    counts = count_effects(effects, present)
    assert counts[Effect.NEW] == len(there - present)
    assert counts[Effect.REMOVED] == len(present - there)


def test_a_test_of_the_plan_is_marked() -> None:
    one = work_order(acceptance_files=[{"path": "test_a.py", "content": "x = 1\n"}])
    ((allowed, test),) = planned_effects([one], {"hello.txt"})
    assert allowed == FileEffect("hello.txt", Effect.CHANGED)
    assert test == FileEffect("test_a.py", Effect.NEW, is_test=True)


def test_what_landed_is_what_the_commit_did_to_the_files_of_the_order() -> None:
    one = work_order(allowed_files=["a.py", "b.py"], removed_files=["c/d.py"])
    made = {"a.py": "A", "c/d.py": "D", "of_another.py": "A"}
    assert landed_effects(one, made) == (
        FileEffect("a.py", Effect.NEW),
        FileEffect("c/d.py", Effect.REMOVED),
    )
