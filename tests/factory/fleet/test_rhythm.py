"""When a worker looks for jobs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factory.fleet.job_claims import Rhythm

PACE = {"orders": 0.125, "plans": 1.0}


def _looks(rhythm: Rhythm, begin: float, end: float, queue: str = "orders") -> list[float]:
    """Return when a worker looks that has a free slot all the time."""
    now, looks = begin, []
    while now < end:
        turn = rhythm.turn(queue, now, full=False)
        now += turn.wait_seconds
        if turn.looks and now < end:
            looks.append(now)
        now += 1 / 512  # what a look takes
    return looks


def test_a_worker_with_work_looks_at_the_pace_of_the_queue() -> None:
    rhythm = Rhythm(PACE, 0.0)
    assert 230 <= len(_looks(rhythm, 0.0, 30.0)) <= 240
    assert len(_looks(rhythm, 0.0, 30.0, "plans")) == 30


def test_a_worker_without_work_looks_once_a_second_and_work_wakes_it() -> None:
    rhythm = Rhythm(PACE, 0.0)
    assert len(_looks(rhythm, 31.0, 41.0)) == 10
    rhythm.note_work(41.0)
    assert 15 <= len(_looks(rhythm, 41.0, 43.0)) <= 16
    assert len(_looks(rhythm, 72.0, 74.0)) == 2


def test_the_first_look_is_not_delayed_and_queues_do_not_share_a_rhythm() -> None:
    rhythm = Rhythm(PACE, 0.0)
    assert rhythm.turn("orders", 100.0, full=False) == (0.0, True)
    assert not rhythm.turn("orders", 100.5, full=False).looks
    assert rhythm.turn("plans", 100.5, full=False) == (0.0, True)


def test_a_slot_that_gets_free_is_filled_at_once_and_nobody_looks_while_there_is_none() -> None:
    rhythm = Rhythm(PACE, 0.0)
    assert rhythm.turn("plans", 1.0, full=False).looks
    for number in range(1, 100):
        wait, looks = rhythm.turn("plans", 1.0 + number / 100, full=True)
        assert not looks
        assert 0 < wait <= 0.01
    assert rhythm.turn("plans", 1.995, full=False) == (0.0, True)
    assert not rhythm.turn("plans", 1.996, full=False).looks


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.booleans(), st.booleans()), max_size=40))
def test_nobody_waits_long_at_a_time_and_looks_keep_their_distance(
    moments: list[tuple[float, bool, bool]],
) -> None:
    rhythm, now, looked, was_full = Rhythm(PACE, 0.0), 0.0, -1.0, False
    for passed, full, works in moments:
        now += passed
        if works:
            rhythm.note_work(now)
        wait, looks = rhythm.turn("orders", now, full=full)
        assert 0.0 <= wait <= 0.1
        now += wait
        assert not (looks and full)
        if looks:
            assert was_full or now - looked >= PACE["orders"] - 1e-9
            looked = now
        was_full = full
