"""Defines what a run's time line shows. Times are seconds since the run began."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from llmch.run_view.model.states import Judged


class Activity(StrEnum):
    """Name a kind of time span in the time line."""

    ATTEMPT = "attempt"
    MODEL = "model"
    COMMAND = "command"
    TRIAL = "trial"
    """An acceptance command that was tried before the work was done."""
    WAIT = "wait"
    """Nothing is done for the order: it waits for those before it."""


@dataclass(frozen=True, slots=True)
class Span:
    """Hold a time span of the run; `number` is the attempt that it belongs to, 0 for none."""

    activity: Activity
    start: float
    end: float
    label: str
    judged: Judged
    number: int = 0


@dataclass(frozen=True, slots=True)
class Track:
    """Hold the time spans of one order; `order` is "" for what the run did for no order."""

    order: str
    title: str
    spans: tuple[Span, ...]

    @property
    def start(self) -> float:
        """Return when the first span starts."""
        return min((each.start for each in self.spans), default=0.0)

    @property
    def end(self) -> float:
        """Return when the last span ends."""
        return max((each.end for each in self.spans), default=0.0)
