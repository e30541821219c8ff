"""Decides which orders may start, may land, or no longer can. Pure: states in, decisions out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from factory.batch.order_graph import OrderGraph
from factory.orders.order_state import OrderState


@dataclass(slots=True)
class Schedule:
    """Track the orders of a plan on their way to the branch.

    An order starts when all orders that it needs have landed; its base is the commit of the last
    of them. Landing follows the plan's sequence, whichever order is judged first. A failure stops
    only the orders that need the failed one with `keep_going`, else everything after it.
    """

    graph: OrderGraph
    keep_going: bool
    start: str
    """The base of the orders that need nothing."""
    states: list[OrderState] = field(default_factory=list)
    commits: dict[int, str] = field(default_factory=dict)
    """The commit of each order that is on the branch."""
    since_start: list[int] = field(default_factory=list)
    """The orders that landed after `start`, as they follow each other on the branch."""
    causes: dict[int, int] = field(default_factory=dict)
    """For each blocked order, the failed or left-out order that blocks it."""
    ending: set[int] = field(default_factory=set)
    """The orders that will end the run when their turn to land comes; nothing after them starts."""

    @property
    def limit(self) -> int | None:
        """Return the first order that will end the run, if there is one."""
        return min(self.ending, default=None)

    @classmethod
    def of(
        cls,
        graph: OrderGraph,
        keep_going: bool,
        start: str,
        landed: Mapping[int, str],
        since_start: Sequence[int],
        left_out: Collection[int] = (),
        others: Collection[int] = (),
    ) -> Schedule:
        """Return the schedule of a plan whose orders `landed` are on the branch already.

        The orders `left_out` block those that need them. The orders `others` are for another run.
        """
        states = [
            OrderState.SKIPPED if position in landed else OrderState.WAITING
            for position in range(len(graph.ids))
        ]
        schedule = cls(graph, keep_going, start, states, dict(landed), list(since_start))
        for position in sorted(left_out):
            schedule._leave_out(position)
        for position in others:
            if not states[position].is_over:
                states[position] = OrderState.PENDING
        return schedule

    def startable(self) -> Sequence[int]:
        """Return the orders that could be made now, in the plan's sequence."""
        return [
            position
            for position, state in enumerate(self.states[: self.limit])
            if state is OrderState.WAITING
            and all(self.states[each].is_on_branch for each in self.graph.needs[position])
        ]

    def may_start(self, position: int) -> bool:
        """Return whether a step of an order may still start: no order before it ends the run."""
        return self.limit is None or position < self.limit

    def base_of(self, position: int) -> str:
        """Return the base of an order: the commit of the last order on the branch that it needs.

        That may not be the last one in the plan, because an order that failed at first lands late.
        """
        needed = self.graph.all_needs(position)
        last = next((each for each in reversed(self.since_start) if each in needed), None)
        return self.start if last is None else self.commits[last]

    def next_to_land(self) -> int | None:
        """Return the order whose turn it is to land, or None while that order is not judged."""
        turn = self._first_unfinished()
        return turn if turn is not None and self.states[turn] is OrderState.JUDGED else None

    def is_next(self, position: int) -> bool:
        """Return whether all orders before one are over."""
        return self._first_unfinished() == position

    def _first_unfinished(self) -> int | None:
        return next((n for n, state in enumerate(self.states) if not state.is_over), None)

    def last_unfinished_before(self, position: int) -> int:
        """Return the order that would land right before one, as things stand; there must be one."""
        return max(n for n in range(position) if not self.states[n].is_over)

    def land(self, position: int, commit: str) -> None:
        """Record that an order is on the branch."""
        self.states[position] = OrderState.LANDED
        self.commits[position] = commit
        self.since_start.append(position)

    def foresee_end(self, position: int) -> None:
        """Start nothing after an order that will end the run when its turn to land comes."""
        self.ending.add(position)

    def forget_end(self, position: int) -> None:
        """Have an order end the run no longer, because it is made or judged again."""
        self.ending.discard(position)

    def fail(self, position: int) -> None:
        """Record that an order failed, and that the orders that need it are blocked."""
        self.states[position] = OrderState.FAILED
        self._block_after(position)
        if not self.keep_going:
            self.stop()

    def _leave_out(self, position: int) -> None:
        self.states[position] = OrderState.LEFT_OUT
        self._block_after(position)

    def _block_after(self, position: int) -> None:
        for other in self.graph.dependents[position]:
            if not self.states[other].is_over:
                self.states[other] = OrderState.BLOCKED
                self.causes[other] = position

    def stop(self) -> None:
        """Leave the unfinished orders for another run."""
        for position, state in enumerate(self.states):
            if not state.is_over:
                self.states[position] = OrderState.PENDING

    @property
    def over(self) -> bool:
        """Return whether nothing is left to be made or landed."""
        return all(state.is_over for state in self.states)
