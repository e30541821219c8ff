"""Two things run at a time, and both are over before anything goes on."""

from __future__ import annotations

import threading

import pytest

from factory.workbench.workspace import side_by_side


def test_both_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=60)
    assert sorted(side_by_side(meeting.wait, meeting.wait)) == [0, 1]


def test_what_either_raises_is_raised() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        side_by_side(fail, lambda: 1)
    with pytest.raises(ValueError, match="no"):
        side_by_side(lambda: 1, fail)


def test_the_other_is_over_when_one_fails() -> None:
    begun, done = threading.Event(), threading.Event()

    def beside() -> None:
        begun.set()
        done.set()

    def here() -> None:
        assert begun.wait(60)
        raise ValueError

    with pytest.raises(ValueError):
        side_by_side(here, beside)
    assert done.is_set()
