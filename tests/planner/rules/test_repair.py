"""Repair without a model: one certain remedy is applied, recorded and judged; two never are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from planner.rules.repair import repair_plan
from shared.events.events import PlanJudged, PlanRepaired
from shared.languages.python.type_checker import TypeChecker
from tests.planner.planning import Planner
from tests.planner.plans import absent, creating, exists, order, plan
from tests.warm_checker import tools_with

VERIFY = "bash scripts/verify.sh"


def repaired(
    document: dict[str, Any],
) -> tuple[list[tuple[str, str, str | None, str | None]], set[str]]:
    """Return code, order, before and after of each fix, and the error codes that are left."""
    result = repair_plan(parse_plan(document), judge)
    fixes = [(each.code, each.order, each.before, each.after) for each in result.fixes]
    return fixes, {each.code for each in result.report.errors}


def test_a_missing_postcondition_is_added() -> None:
    half = order(1, allowed_files=["a.txt", "b.txt"], postconditions=exists("a.txt"))
    assert repaired(plan(half)) == ([("E104", "WO-01", None, "file_exists b.txt")], set())


def test_verification_is_dropped_from_acceptance_where_others_remain() -> None:
    both = order(1, acceptance_commands=[VERIFY, "python -m compileall -q ."])
    assert repaired(plan(both)) == ([("E105", "WO-01", VERIFY, None)], set())


def test_verification_alone_is_left_to_the_model() -> None:
    assert repaired(plan(order(1, acceptance_commands=[VERIFY]))) == ([], {"E105"})


def test_rising_numbers_with_a_gap_are_renumbered_also_where_others_depend_on_them() -> None:
    result = repair_plan(
        parse_plan(plan(order(1), order(3), order(5, depends_on=["WO-03"]))), judge
    )
    assert [draft.label for draft in result.plan.drafts] == ["WO-01", "WO-02", "WO-03"]
    assert result.plan.drafts[2].raw["depends_on"] == ["WO-02"]
    assert result.report.ok


@pytest.mark.parametrize("given", ["WO-1", "WO-001", "wo-01", "1", "WO_01"])
def test_an_id_of_another_form_that_means_the_number_is_corrected(given: str) -> None:
    assert repaired(plan(order(1, id=given), order(2))) == (
        [("E001", "WO-01", given, "WO-01")],
        set(),
    )


@pytest.mark.parametrize(
    "orders",
    [
        [order(2), order(1)],
        [order(1), order(1)],
        [order(1), order(1, id="first")],
        [order(1), order(3, notes="builds on what WO-03 had before")],
    ],
    ids=["out of order", "twice", "no number", "spoken of in a text"],
)
def test_ids_that_could_be_meant_in_two_ways_are_left(orders: list[dict[str, Any]]) -> None:
    assert repaired(plan(*orders)) == ([], {"E001"})


def test_backslashes_in_a_path_become_slashes() -> None:
    windows = creating(1, "src\\a.txt")
    fixes, left = repaired(plan(windows))
    assert ([fix[0] for fix in fixes], left) == (["E005", "E005"], set())
    assert {fix[3] for fix in fixes} == {"src/a.txt"}


def test_an_interface_follows_its_file(checker: TypeChecker) -> None:
    interface = {"path": "src\\a.py", "stub": "def one() -> int: ..."}
    command = 'python -c "from src.a import one; assert one() == 1"'
    windows = creating(1, "src\\a.py", interfaces=[interface], acceptance_commands=[command])
    result = repair_plan(
        parse_plan(plan(windows)), lambda each: judge(each, tools=tools_with(checker))
    )
    assert [(each.code, str(each.at)) for each in result.fixes] == [
        ("E005", "allowed_files[0]"),
        ("E005", "postconditions[0].path"),
        ("E202", "interfaces[0].path"),
    ]
    assert result.report.findings == ()


@pytest.mark.parametrize("path", ["/src/a.txt", "src/", "..\\a.txt", "C:\\a.txt", "\\a.txt", ""])
def test_a_path_that_may_mean_several_files_is_left(path: str) -> None:
    assert repaired(plan(order(1, allowed_files=[path]))) == ([], {"E005"})


def test_a_remedy_that_would_bring_another_error_is_not_taken() -> None:
    half = order(1, allowed_files=["a.txt", "b.txt"], postconditions=exists("a.txt"))
    later = creating(2, "b.txt", preconditions=absent("b.txt"))
    assert repaired(plan(half, later)) == ([], {"E104"})


def test_a_mended_plan_costs_no_further_call_and_the_fixes_are_on_record(planner: Planner) -> None:
    half = order(3, allowed_files=["a.txt", "b.txt"], postconditions=exists("a.txt"))
    result = planner.plan(plan(order(1), half))
    assert (result.ok, result.attempts, len(planner.prompts)) == (True, 1, 1)
    assert planner.record("compile_summary.json")["fixes"] == [
        {"code": "E001", "order": "WO-02", "field": "id", "before": "WO-03", "after": "WO-02"},
        {
            "code": "E104",
            "order": "WO-02",
            "field": "postconditions[1]",
            "before": None,
            "after": "file_exists b.txt",
        },
    ]
    (repaired,) = planner.seen(PlanRepaired)
    assert repaired.fixes[0] == '[E001] WO-02 id: "WO-03" -> "WO-02"'
    assert [each.errors for each in planner.seen(PlanJudged)] == [0]


def test_what_is_left_is_revised_from_the_mended_plan(planner: Planner) -> None:
    faulty = plan(order(1), order(3, acceptance_commands=["true | cat"]))
    assert planner.plan(faulty, plan(order(1))).attempts == 2
    assert "[E003] WO-02 acceptance_commands[0]" in planner.prompts[1]
    assert '"id": "WO-02"' in planner.prompts[1]
    assert "[E001]" not in planner.prompts[1]


PATHS = st.sampled_from(["a.txt", "b\\c.txt", "/x", "*", ""])
ORDERS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["WO-01", "WO-02", "WO-3", "7", "x"]) | st.none(),
        "title": st.just("t"),
        "forbidden": st.just([]),
        "context_files": st.just([]),
        "intent": st.just("i"),
        "allowed_files": st.lists(PATHS, max_size=3) | st.none(),
        "postconditions": st.lists(PATHS.map(lambda path: exists(path)[0]), max_size=2),
        "acceptance_commands": st.lists(st.sampled_from([VERIFY, "true", "a | b"]), max_size=3),
    }
)


@given(st.lists(ORDERS | st.none() | st.just([]), max_size=4))
@settings(max_examples=100, deadline=None)
def test_no_plan_is_made_worse_and_a_second_repair_finds_nothing_to_do(orders: list[Any]) -> None:
    before = parse_plan({"work_orders": orders})
    result = repair_plan(before, judge)
    assert judge(before).ok <= result.report.ok
    assert repair_plan(result.plan, judge).fixes == ()
