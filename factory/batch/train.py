"""Couples the commits of orders to a train, each judged on the one before, without any I/O.

A commit lands as it was judged: on exactly the commit that it follows. So that an order need not
wait for all those before it to land, its proposal is judged on its *predicted* parent: the
candidate of the order before it, as it is. If that candidate fails, those behind it are dropped
and judged again. The prediction decides only when an order is judged, never on what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from factory.batch.schedule import Schedule
from factory.orders.stages import OrderState


class Outcome(Enum):
    """Name the outcome of an order, which holds while the train before it stays the same."""

    PASSED = auto()
    FAILED = auto()
    UNDECIDED = auto()
    """Its turn to land decides: it has to be made again, or an error will end the run."""


@dataclass(slots=True)
class Car:
    """Hold what an order was judged on, and its commit.

    `parent` is empty if nothing was judged. `commit` is empty until it is written, and again
    after the attempt failed.
    """

    parent: str
    commit: str = ""
    outcome: Outcome | None = None


class Train:
    """Track the candidates of a run, in the plan's sequence, behind the branch's tip."""

    def __init__(self, schedule: Schedule, tip: str) -> None:
        self._schedule = schedule
        self._cars: dict[int, Car] = {}
        self.tip = tip

    def predictions(self) -> Iterator[tuple[int, str]]:
        """Yield the orders in the train whose parent can be predicted, each with it, in sequence.

        Behind an order without a candidate, no parent can be predicted. A failed order is expected
        to stay one; only with `keep_going` does anything follow it.
        """
        parent = self.tip
        for position in self._schedule.front():
            yield position, parent
            car = self._cars.get(position)
            if car is None or car.parent not in ("", parent):
                return
            if car.outcome is Outcome.FAILED and self._schedule.keep_going:
                continue
            if not car.commit or car.outcome in (Outcome.FAILED, Outcome.UNDECIDED):
                return
            parent = car.commit

    def to_judge(self) -> list[tuple[int, str]]:
        """Return the orders whose proposals can be judged now, each with its parent."""
        states = self._schedule.states
        return [
            (position, parent)
            for position, parent in self.predictions()
            if states[position] is OrderState.PROPOSED
        ]

    def derailed(self) -> list[int]:
        """Return the orders that were judged on a commit that is not their parent any more."""
        predicted = dict(self.predictions())
        return [
            position
            for position, car in sorted(self._cars.items())
            if car.parent and car.parent != predicted.get(position)
        ]

    def ahead_of(self, position: int) -> list[int]:
        """Return the orders on whose candidates one is judged, and that may still fail."""
        return [
            each
            for each, car in sorted(self._cars.items())
            if each < position and car.commit and car.outcome is not Outcome.FAILED
        ]

    def judged_on(self, position: int) -> str:
        """Return the commit that an order was judged on; "" if it was not judged."""
        car = self._cars.get(position)
        return car.parent if car else ""

    def couple(self, position: int, parent: str) -> None:
        """Record that an order is about to be judged on a commit."""
        self._cars[position] = Car(parent)

    def announce(self, position: int, commit: str) -> None:
        """Record the commit of an order that is being judged: the next one follows it."""
        if position in self._cars:
            self._cars[position].commit = commit

    def retry(self, position: int) -> None:
        """Record that an attempt of an order failed, so that it gets another commit."""
        self._cars[position].commit = ""

    def conclude(self, position: int, outcome: Outcome) -> None:
        """Record the outcome of an order."""
        self._cars.setdefault(position, Car("")).outcome = outcome

    def drop(self, position: int) -> None:
        """Forget what an order was judged on."""
        self._cars.pop(position, None)

    def land(self, position: int, commit: str) -> None:
        """Record that an order's commit is the tip of the branch."""
        self.drop(position)
        self.tip = commit
