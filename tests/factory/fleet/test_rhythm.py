"""How often a worker looks for jobs."""

from __future__ import annotations

from factory.fleet.engine.rhythm import Rhythm


def _looks(rhythm: Rhythm, begin: float, end: float, step: float = 0.125) -> int:
    moments = (begin + step * number for number in range(round((end - begin) / step)))
    return sum(rhythm.looks("orders", now) for now in moments)


def test_a_worker_with_work_looks_each_time() -> None:
    assert _looks(Rhythm(0.0), 0.0, 30.0) == 240


def test_a_worker_without_work_looks_once_a_second_and_work_wakes_it() -> None:
    rhythm = Rhythm(0.0)
    assert _looks(rhythm, 31.0, 41.0) == 10
    rhythm.note_work(41.0)
    assert _looks(rhythm, 41.0, 43.0) == 16
    assert _looks(rhythm, 72.0, 74.0) == 2


def test_the_first_look_is_not_delayed_and_queues_do_not_share_a_rhythm() -> None:
    rhythm = Rhythm(0.0)
    assert rhythm.looks("orders", 100.0)
    assert not rhythm.looks("orders", 100.5)
    assert rhythm.looks("plans", 100.5)
