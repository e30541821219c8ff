"""Holds the steps of a run that were asked of the fleet. Safe for threads."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field

from factory.run.steps import Making, Step
from shared.errors import LlmchError


@dataclass(slots=True)
class Asked:
    """Hold a step that a worker takes, and how much of it is known."""

    step: Step
    future: Future[Making] = field(default_factory=Future)
    told: set[str] = field(default_factory=set)
    """The commits that it announced."""
    last_event: int = 0
    shown: Counter[str] = field(default_factory=Counter)
    """How many of its events were passed on while it ran, by the worker that they came from."""

    def settle(self, making: Making) -> None:
        """Say how far the step brought its order, unless it was dropped at the same moment."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_result(making)

    def fail(self, error: BaseException) -> None:
        """Say that the step ended in an error, unless it was dropped at the same moment."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


class AskedSteps:
    """Hold the steps that the fleet has not answered yet, by their jobs.

    `over` lists the jobs that were answered, dropped or given up.
    """

    def __init__(self) -> None:
        self.over: list[str] = []
        self._steps: dict[str, Asked] = {}
        self._given_up: LlmchError | None = None
        self._lock = threading.Lock()

    def add(self, job: str, step: Step) -> Asked:
        """Hold a step; it has failed at once where all steps were given up."""
        asked = Asked(step)
        with self._lock:
            if self._given_up:
                asked.fail(self._given_up)
            else:
                self._steps[job] = asked
        return asked

    def now(self) -> Mapping[str, Asked]:
        """Return the steps at this moment."""
        with self._lock:
            return dict(self._steps)

    def take(self, job: str) -> Asked | None:
        """Remove a step and return it; `None` where it was dropped."""
        with self._lock:
            self.over.append(job)
            return self._steps.pop(job, None)

    def take_all(self, step: Step | None = None) -> Mapping[str, Asked]:
        """Remove the jobs of a step, or of all steps, and return them."""
        with self._lock:
            found = {job: each for job, each in self._steps.items() if step in (None, each.step)}
            for job in found:
                del self._steps[job]
            self.over += found
        return found

    def give_up(self, error: LlmchError) -> None:
        """Have all steps fail, those that are still to be asked too."""
        with self._lock:
            self._given_up = self._given_up or error
        for each in self.take_all().values():
            each.fail(error)
