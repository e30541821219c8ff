"""Decides which orders may start, may land, or no longer can. Pure: states in, decisions out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from factory.batch.order_graph import OrderGraph
from factory.batch.readiness import Readiness
from factory.orders.order_state import OrderState

_LEAST_PLACES: Final = 8


def places_for(jobs: int) -> int:
    """Return how many places a train needs, so that a slow head does not leave the jobs idle.

    Twice the jobs: while the first half waits for the head, the other half is made and judged.
    """
    return max(_LEAST_PLACES, 2 * jobs)


@dataclass(slots=True)
class Schedule:
    """Track the orders of a plan on their way to the branch.

    An order starts when all orders that it needs have landed and it has a place: the train has
    `places` for the first unfinished orders of the plan. So what is asked, made and judged behind a
    slow order has a bound. The base of an order is the commit of the last order that it needs.
    Landing follows the plan's sequence, whichever order is judged first. A failure stops only the
    orders that need the failed one with `keep_going`, else everything after it.

    The caller changes the state of an unfinished order; all that ends one is a method here.
    """

    graph: OrderGraph
    keep_going: bool
    start: str
    """The base of the orders that need nothing."""
    places: int = _LEAST_PLACES
    states: list[OrderState] = field(init=False)
    commits: dict[int, str] = field(default_factory=dict)
    """The commit of each order that is on the branch."""
    causes: dict[int, int] = field(default_factory=dict)
    """For each blocked order, the failed or left-out order that blocks it."""
    ending: set[int] = field(default_factory=set)
    """The orders that will end the run when their turn to land comes; nothing after them starts."""
    _unfinished: OrderedDict[int, None] = field(init=False)
    """The unfinished orders, in the plan's sequence."""
    _readiness: Readiness = field(init=False)

    def __post_init__(self) -> None:
        positions = range(len(self.graph.ids))
        self.states = [OrderState.WAITING for _ in positions]
        self._unfinished = OrderedDict.fromkeys(positions)
        self._readiness = Readiness(self.graph)

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
        places: int = _LEAST_PLACES,
    ) -> Schedule:
        """Return the schedule of a plan whose orders `landed` are on the branch already.

        `since_start` are those that landed after `start`, as they follow each other on the branch.
        The orders `left_out` block those that need them. The orders `others` are for another run.
        """
        schedule = cls(graph, keep_going, start, places)
        for position in since_start:
            schedule._readiness.number_landing(position, landed[position])
        for position, commit in sorted(landed.items()):
            schedule.commits[position] = commit
            schedule._end(position, OrderState.SKIPPED)
        for position in left_out:
            schedule._end(position, OrderState.LEFT_OUT)
        for position in sorted(left_out):
            schedule._block_after(position)
        for position in others:
            if not schedule.states[position].is_over:
                schedule._end(position, OrderState.PENDING)
        return schedule

    def front(self) -> Iterator[int]:
        """Yield the orders that have a place in the train, in the plan's sequence."""
        return islice(self._unfinished, self.places)

    def startable(self) -> Sequence[int]:
        """Return the orders that could be made now, in the plan's sequence."""
        return [
            position
            for position in self.front()
            if self.states[position] is OrderState.WAITING
            and self.may_start(position)
            and self._readiness.is_ready(position)
        ]

    def may_start(self, position: int) -> bool:
        """Return whether a step of an order may still start: no order before it ends the run."""
        return self.limit is None or position < self.limit

    def base_of(self, position: int) -> str:
        """Return the base of an order: the commit of the last order on the branch that it needs.

        That may not be the last one in the plan, because an order that failed at first lands late.
        """
        return self._readiness.base_of(position, self.start)

    def next_to_land(self) -> int | None:
        """Return the order whose turn it is to land, or None while that order is not judged."""
        turn = next(self.front(), None)
        return turn if turn is not None and self.states[turn] is OrderState.JUDGED else None

    def is_next(self, position: int) -> bool:
        """Return whether all orders before one are over."""
        return next(self.front(), None) == position

    def last_unfinished_before(self, position: int) -> int:
        """Return the order that would land right before one that has a place; there must be one."""
        return max(each for each in self.front() if each < position)

    def land(self, position: int, commit: str) -> None:
        """Record that an order is on the branch."""
        self.commits[position] = commit
        self._readiness.number_landing(position, commit)
        self._end(position, OrderState.LANDED)

    def foresee_end(self, position: int) -> None:
        """Start nothing after an order that will end the run when its turn to land comes."""
        self.ending.add(position)

    def forget_end(self, position: int) -> None:
        """Have an order end the run no longer, because it is made or judged again."""
        self.ending.discard(position)

    def fail(self, position: int) -> None:
        """Record that an order failed, and that the orders that need it are blocked."""
        self._end(position, OrderState.FAILED)
        self._block_after(position)
        if not self.keep_going:
            self.stop()

    def stop(self) -> None:
        """Leave the unfinished orders for another run."""
        for position in tuple(self._unfinished):
            self._end(position, OrderState.PENDING)

    @property
    def over(self) -> bool:
        """Return whether nothing is left to be made or landed."""
        return not self._unfinished

    def _block_after(self, position: int) -> None:
        """Block all that needs an order, however indirectly; what is blocked has done so before."""
        reached = set[int]()
        to_block = [position]
        while to_block:
            later = self.graph.blocks[to_block.pop()] - reached
            reached |= later
            for each in later:
                if self.states[each] is OrderState.BLOCKED:
                    continue
                if not self.states[each].is_over:
                    self._end(each, OrderState.BLOCKED)
                    self.causes[each] = position
                to_block.append(each)

    def _end(self, position: int, state: OrderState) -> None:
        self.states[position] = state
        del self._unfinished[position]
        self._readiness.end(position, on_branch=state.is_on_branch)
