"""What the model is shown of a change: enough to plan it, and no more."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.replan.merge_plans import merge
from planner.replan.predecessor import FollowUp
from planner.replan.replan_prompt import (
    relevant_words,
    render_difference,
    render_orders,
    render_own,
    render_replaceable,
    render_withdrawable,
)
from tests.planner.replanning import follow_up, unstored_predecessor, writing

BEFORE = {"R1": "Five letters.", "R2": "A guess scores.", "R3": "A score is kept.", "R4": "Hints."}
STUB = {"path": "part_02.txt", "stub": "def score(guess: str) -> int: ..."}


def task(after: dict[str, str], *orders: Any, landed: Any = ("WO-01",)) -> FollowUp:
    return follow_up(unstored_predecessor(BEFORE, *orders, landed=landed), after)


def parts(number: int) -> list[Any]:
    return [writing(each, f"R{each}") for each in range(1, number + 1)]


def test_the_difference_has_both_versions_and_what_stands_beside_them() -> None:
    after = {"R1": "Five letters.", "R2": "A guess\nscores twice.", "R5": "A clock."}
    text = render_difference(task(after, writing(1, "R1", "R2"), writing(2, "R3", "R4")))
    assert "- changed R2: A guess scores twice.\n  before: A guess scores." in text
    assert "- added R5: A clock." in text
    assert "- removed R3: A score is kept." in text
    assert "- R1: Five letters." in text


def test_what_no_change_concerns_is_only_counted() -> None:
    text = render_difference(task(BEFORE | {"R2": "Twice."}, *parts(4)))
    assert "Further requirements that are untouched: 3." in text
    assert "Five letters" not in text


def test_orders_are_shown_by_what_became_of_them() -> None:
    text = render_orders(task(BEFORE | {"R2": "Twice."}, *parts(3)))
    landed, _, rest = text.partition("Kept, not begun:")
    assert "- WO-01 Part 1; covers R1; files part_01.txt" in landed
    kept, _, concerned = rest.partition("Not begun, and concerned by the change:")
    assert "- WO-03 Part 3; covers R3; files part_03.txt" in kept
    assert "WO-02" not in landed + kept
    assert '"acceptance_commands":["grep -q done part_02.txt"]' in concerned
    assert "provenance" not in text


def test_an_order_that_a_person_left_out_is_named_as_such() -> None:
    before = replace(unstored_predecessor(BEFORE, *parts(3)), left_out=frozenset({"WO-03"}))
    assert "- WO-03 Part 3 (left out by a person)" in render_orders(follow_up(before, BEFORE))


def test_interfaces_are_those_of_the_files_that_the_change_concerns_or_that_are_to_come() -> None:
    def declaring(number: int, stub: str) -> Any:
        path = f"part_{number}.py"
        interface = {"path": path, "stub": stub}
        return writing(number, f"R{number}", allowed_files=[path], interfaces=[interface])

    orders = [declaring(n, f"def made_{n}() -> int: ...") for n in (1, 2, 3)]
    text = render_orders(task(BEFORE | {"R2": "Twice."}, *orders, landed=["WO-01", "WO-02"]))
    assert "def made_1" not in text
    assert "def made_2" in text
    assert "def made_3" in text


def test_a_later_order_of_the_same_file_has_the_last_word_on_its_interface() -> None:
    def declaring(number: int, stub: str) -> Any:
        interface = {"path": "a.py", "stub": stub}
        return writing(number, "R1", allowed_files=["a.py"], interfaces=[interface])

    orders = [declaring(1, "def a() -> int: ..."), declaring(2, "def a() -> str: ...")]
    text = render_orders(task(BEFORE | {"R1": "Six."}, *orders, landed=["WO-01", "WO-02"]))
    assert "def a() -> str:" in text
    assert "def a() -> int:" not in text


def test_the_words_say_which_orders_may_go() -> None:
    gone = {name: text for name, text in BEFORE.items() if name != "R2"}
    change = task(gone, *parts(3))
    assert "with the same id: WO-02." in render_replaceable(change)
    assert "for those of WO-02 that nobody needs" in render_withdrawable(change)
    nothing = task(BEFORE | {"R1": "Six."}, *parts(3))
    assert render_replaceable(nothing) == "No order that is not begun may be replaced."
    assert render_withdrawable(nothing) == ""


@pytest.mark.parametrize("number", [1, 3])
def test_the_reviewer_sees_the_new_orders_whole_and_the_others_in_a_line(number: int) -> None:
    change = task(BEFORE | {"R1": "Six."}, *parts(3))
    new: list[Any] = [writing(3 + each, "R1") for each in range(1, number + 1)]
    merged = merge(parse_plan({"work_orders": new}), change)
    shown = json.loads(render_own(merged.plan, merged.answer))
    assert shown["work_orders"] == new
    assert [each[:5] for each in shown["other_orders"]] == ["WO-01", "WO-02", "WO-03"]


def test_long_lists_and_titles_of_orders_are_cut() -> None:
    files = [f"file_{number}.txt" for number in range(1, 501)]
    fields = {"allowed_files": files, "postconditions": []}
    order = writing(1, "R1", title="long " * 100, **fields)
    text = render_orders(task(BEFORE | {"R2": "Twice."}, order))
    assert "file_12.txt and 488 more" in text
    assert len(text) < 1_000


def test_files_of_the_concerned_orders_count_as_relevant() -> None:
    words = relevant_words(task(BEFORE | {"R2": "Twice."}, *parts(3)))
    assert "part_02.txt" in words
    assert "part_03.txt" not in words
