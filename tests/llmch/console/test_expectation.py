"""How long the rest may take: honest about what is not known."""

from __future__ import annotations

import heapq
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.console.activity import TimeLeft, WorkedTime, expect, render_left

seconds = st.floats(0, 1e5, allow_nan=False)
worked = st.tuples(seconds, seconds).map(lambda pair: WorkedTime(min(pair), max(pair)))
landed = st.lists(worked, min_size=2, max_size=12)
under_way = st.lists(seconds, max_size=4)


def one_after_another(*lengths: float) -> list[WorkedTime]:
    found, at = [], 0.0
    for each in lengths:
        found.append(WorkedTime(at, at + each))
        at += each
    return found


@given(landed, under_way, st.integers(0, 50))
def test_a_range_is_never_negative_and_never_upside_down(
    seen: list[WorkedTime], running: list[float], to_begin: int
) -> None:
    found = expect(seen, running, to_begin)
    assert (found is None) == (not running and not to_begin)
    if found is not None:
        assert 0 <= found.least <= found.most
        assert render_left(found) == "" or render_left(found).endswith("left")


@given(landed, under_way, st.integers(0, 50))
def test_more_to_do_never_ends_earlier(
    seen: list[WorkedTime], running: list[float], to_begin: int
) -> None:
    less, more = expect(seen, running, to_begin), expect(seen, running, to_begin + 1)
    assert more is not None
    if less is not None:
        assert more.most >= less.most * (1 - 1e-9)


@given(st.floats(1, 1000), st.integers(2, 12), st.integers(1, 50))
def test_equal_orders_are_expected_to_be_equal_again(
    length: float, seen: int, to_begin: int
) -> None:
    found = expect(one_after_another(*[length] * seen), [], to_begin)
    assert found is not None
    assert found.least <= length * to_begin <= found.most


@given(st.floats(1, 1000), st.integers(1, 20), st.floats(0, 0.9))
def test_time_that_passes_brings_the_end_nearer(length: float, to_begin: int, share: float) -> None:
    seen = one_after_another(length, length)
    before, after = (expect(seen, [each], to_begin) for each in (0.0, share * length))
    assert before is not None
    assert after is not None
    assert (after.least, after.most) <= (before.least, before.most)


def test_more_evidence_narrows_the_range() -> None:
    few, many = (expect(one_after_another(*[60.0, 90.0] * n), [], 10) for n in (1, 10))
    assert few is not None
    assert many is not None
    assert many.most - many.least < few.most - few.least


def simulated(dice: Random, jobs: int, seen: int) -> tuple[TimeLeft | None, float]:
    """Return what is expected when `seen` of twelve orders have landed, and what comes true."""
    free, spans = [0.0] * jobs, []
    for _ in range(12):
        began = heapq.heappop(free)
        spans.append(WorkedTime(began, began + dice.lognormvariate(math.log(60), 0.5)))
        heapq.heappush(free, spans[-1].ended)
    now = sorted(each.ended for each in spans)[seen - 1]
    done = [each for each in spans if each.ended <= now]
    running = [now - each.began for each in spans if each.began <= now < each.ended]
    to_begin = len(spans) - len(done) - len(running)
    return expect(done, running, to_begin), max(each.ended for each in spans) - now


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("seen", [2, 3, 6])
def test_the_end_lies_in_the_range_three_times_in_four_at_least(jobs: int, seen: int) -> None:
    dice = Random(1)
    inside = 0
    for _ in range(500):
        left, rest = simulated(dice, jobs, seen)
        inside += left is not None and left.least <= rest <= left.most
    assert inside >= 375


def test_nothing_is_said_without_evidence() -> None:
    assert expect([], [], 5) is None
    assert expect(one_after_another(60.0), [], 5) is None


def test_orders_side_by_side_end_sooner() -> None:
    alone = expect(one_after_another(60, 60, 60, 60), [], 8)
    together = expect([WorkedTime(0, 60)] * 4, [], 8)
    assert alone is not None
    assert together is not None
    assert together.most < alone.most / 2


def test_an_order_that_takes_ever_longer_is_not_said_to_end_soon() -> None:
    seen = one_after_another(60, 60, 60)
    ranges = [expect(seen, [late], 0) for late in (30, 120, 600)]
    most = [each.most for each in ranges if each is not None]
    assert most == sorted(most)
    assert most[-1] > 600


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        (0, 0, "less than a minute left"),
        (10, 59, "less than a minute left"),
        (10, 61, "up to about 2 min left"),
        (119, 170, "about 1 to 3 min left"),
        (300, 300, "about 5 min left"),
        (301, 470, "about 5 to 8 min left"),
        (2900, 3700, "about 40 min to 2 h left"),
        (7200, 9000, "about 2 to 3 h left"),
        (86400, 90000, "24 h or more left"),
        (0, 1e6, ""),
    ],
)
def test_a_range_is_told_in_steps(least: float, most: float, text: str) -> None:
    assert render_left(TimeLeft(least, most)) == text
