"""What may start, what may land, and what no longer can. Pure: states in, decisions out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from factory.batch.order_graph import OrderGraph


class Progress(StrEnum):
    """Where an order stands in this run."""

    WAITING = "waiting"
    RUNNING = "running"
    MADE = "made"
    LANDED = "landed"
    SKIPPED = "skipped"
    FAILED = "failed"
    BLOCKED = "blocked"
    PENDING = "pending"


_THERE = (Progress.LANDED, Progress.SKIPPED)
_OVER = (*_THERE, Progress.FAILED, Progress.BLOCKED, Progress.PENDING)


@dataclass(slots=True)
class Schedule:
    """The orders of a plan on their way to the branch.

    An order starts when the last one it needs has landed, on the branch as it was then. Landing
    follows the plan's sequence, whatever is made first. `keep_going` says what a failure stops:
    what needs the failed order, or everything after it.
    """

    graph: OrderGraph
    keep_going: bool
    progress: list[Progress] = field(default_factory=list)
    commits: dict[int, str] = field(default_factory=dict)
    """The commit of each order that is on the branch."""
    causes: dict[int, int] = field(default_factory=dict)
    """For each blocked order, the failed one at the root of it."""

    @classmethod
    def of(cls, graph: OrderGraph, keep_going: bool, landed: dict[int, str]) -> Schedule:
        """Return the schedule of a plan of which `landed` is on the branch already."""
        progress = [
            Progress.SKIPPED if position in landed else Progress.WAITING
            for position in range(len(graph.ids))
        ]
        return cls(graph, keep_going, progress, dict(landed))

    def startable(self) -> Sequence[int]:
        """Return the orders that could be made now, in the plan's sequence."""
        return [
            position
            for position, state in enumerate(self.progress)
            if state is Progress.WAITING
            and all(self.progress[each] in _THERE for each in self.graph.needs[position])
        ]

    def base_of(self, position: int, start: str) -> str:
        """Return the commit an order is made on: where the last one it needs has landed."""
        need = self.graph.highest_need(position)
        return start if need is None else self.commits[need]

    def next_to_land(self) -> int | None:
        """Return the order whose turn it is, if it is made."""
        turn = next((n for n, state in enumerate(self.progress) if state not in _OVER), None)
        return turn if turn is not None and self.progress[turn] is Progress.MADE else None

    def land(self, position: int, commit: str) -> None:
        """Take note that an order is on the branch."""
        self.progress[position] = Progress.LANDED
        self.commits[position] = commit

    def fail(self, position: int) -> None:
        """Take note that an order failed, and that others can't be made for it."""
        self.progress[position] = Progress.FAILED
        for other in range(len(self.progress)):
            if self.progress[other] in _OVER:
                continue
            if other in self.graph.dependents[position]:
                self.progress[other] = Progress.BLOCKED
                self.causes[other] = position
            elif not self.keep_going and other > position:
                self.progress[other] = Progress.PENDING

    @property
    def over(self) -> bool:
        """Whether nothing is left to be made or landed."""
        return all(state in _OVER for state in self.progress)
