"""Says how a run, an order or an attempt stands."""

from __future__ import annotations

from enum import StrEnum


class Standing(StrEnum):
    """Say how a run stands: how it ended, or that it has not."""

    PASSED = "passed"
    FAILED = "failed"
    ENDED_EARLY = "ended early"
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    CUT_OFF = "cut off"
    NOT_ON_RECORD = "not on record"
    """There are only the commits of a branch: no record says how the run that made them ended."""


class Judged(StrEnum):
    """Say how something ended that can pass or fail."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"
    """It goes on, or it was cut off."""
