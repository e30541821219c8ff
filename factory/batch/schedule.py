"""Decides which orders a run makes, and which of them may start or land."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Final

from factory.batch.order_graph import OrderGraph
from factory.orders.read_orders import LoadedOrder
from factory.orders.stages import Decision, OrderState
from factory.record.journal import accepted_commits, left_out
from factory.record.landed import LandedOrders
from shared.errors import PreflightRefused

_IN_THE_START = -1
"""Numbers what was on the branch before the first landing that counts."""


@dataclass(slots=True)
class Readiness:
    """Follow the orders of a plan as they end, in time linear in the edges of its graph.

    An order is *settled* once it is over and all that it needs is settled. An order that is over
    may wait for that: where a person's commit was accepted for it, an order that it needs may land
    later.
    """

    graph: OrderGraph
    _landings: list[str] = field(default_factory=list)
    """The commits that landed, as they follow each other on the branch."""
    _numbers: dict[int, int] = field(default_factory=dict)
    """The number of each order's landing."""
    _on_branch: dict[int, bool] = field(default_factory=dict)
    """Whether an order that is over is on the branch."""
    _unsettled: list[int] = field(init=False)
    """How many of the orders that each order needs directly are not settled."""
    _last: dict[int, int] = field(default_factory=dict)
    """For each settled order, the last number among its own landing and all that it needs."""

    def __post_init__(self) -> None:
        self._unsettled = [len(each) for each in self.graph.needs]

    def number_landing(self, position: int, commit: str) -> None:
        """Record that an order's commit is the newest on the branch."""
        self._numbers[position] = len(self._landings)
        self._landings.append(commit)

    def end(self, position: int, *, on_branch: bool) -> None:
        """Record that an order is over, on the branch or not."""
        self._on_branch[position] = on_branch
        to_settle = [position]
        while to_settle:
            each = to_settle.pop()
            if self._unsettled[each] or each not in self._on_branch:
                continue
            own = self._numbers.get(each, _IN_THE_START)
            self._last[each] = max(own, self._last_need(each))
            for later in self.graph.blocks[each]:
                self._unsettled[later] -= 1
                to_settle.append(later)

    def is_ready(self, position: int) -> bool:
        """Return whether all that an order needs is settled and on the branch."""
        return not self._unsettled[position] and all(
            self._on_branch[each] for each in self.graph.needs[position]
        )

    def base_of(self, position: int, start: str) -> str:
        """Return the commit that landed last of all that a ready order needs; `start` if none."""
        last = self._last_need(position)
        return start if last == _IN_THE_START else self._landings[last]

    def _last_need(self, position: int) -> int:
        needs = self.graph.needs[position]
        return max((self._last[each] for each in needs), default=_IN_THE_START)


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
        """Let the run go on after an order that would have ended it: it is made or judged again."""
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


@dataclass(frozen=True, slots=True)
class BranchHistory:
    """Hold the commits of a branch along first parents, newest first.

    A branch that does not exist yet has those of the commit that it will start from.
    """

    tip: str
    commits: tuple[str, ...]
    landed: Mapping[str, str]
    """The commit of each order that has landed, by the order's id."""

    @classmethod
    def of(cls, tip: str, landed: LandedOrders) -> BranchHistory:
        """Return the history of a branch whose last commit is `tip`."""
        return cls(tip, landed.first_parents, landed.landed)

    def start_before(self, own: Collection[str]) -> tuple[str, tuple[str, ...]]:
        """Return where orders begin that need none of `own`, and the commits of `own` after that.

        `own` are the commits of the plan's orders; those after the start are returned oldest first.
        The start is the newest commit that is not one of `own`. It is where the plan's first order
        began, also after a restart, or a commit that somebody added since, which may hold the very
        thing that was missing. Where history is cut off before such a commit (a shallow clone),
        the start is the tip.
        """
        newest = tuple(takewhile(own.__contains__, self.commits))
        if len(newest) == len(self.commits):
            return self.tip, ()
        return self.commits[len(newest)], newest[::-1]


@dataclass(frozen=True, slots=True)
class Choice:
    """Hold what a person decided about a plan's orders, by id, and the only order to make.

    Without `only`, all orders are made that have not landed and are not left out.
    """

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    only: str = ""

    def landed(
        self, names: Sequence[str], history: BranchHistory
    ) -> tuple[Mapping[int, str], frozenset[str]]:
        """Return the commits of orders by position, and which of them orders made.

        The latter leaves out what people made: such a commit may hold more than its order, so later
        orders begin from it. Raises `PreflightRefused` if a commit accepted for an order is
        not on the branch: then it is unknown whether the order is still done.
        """
        accepted = self._accepted(history.commits, history.landed)
        found = {n: history.landed[name] for n, name in enumerate(names) if name in history.landed}
        return found, frozenset(found.values()).difference(accepted.values())

    def _accepted(self, on_branch: Collection[str], made: Collection[str]) -> Mapping[str, str]:
        found = accepted_commits(self.decisions, on_branch)
        done = {*found, *made}
        for name, each in self.decisions.items():
            asked = not self.only or name == self.only
            if each.accepted is not None and asked and name not in done:
                raise PreflightRefused(
                    f"the commit {each.accepted.commit[:12]}, which was accepted for {name}, "
                    "is not on the branch",
                    f"name the commit that has its work now by `llmch accept {name} --commit SHA`, "
                    f"or have the order made by `llmch retry {name}`",
                )
        return found

    def left_out(self, orders: Sequence[LoadedOrder], landed: Collection[int]) -> frozenset[int]:
        """Return the positions of the orders that a person left out and that have not landed."""
        reasons = left_out(self.decisions)
        return frozenset(
            position
            for position, each in enumerate(orders)
            if each.order.id in reasons and position not in landed
        )

    def others(self, orders: Sequence[LoadedOrder]) -> frozenset[int]:
        """Return the positions of the orders that this run is not to make."""
        if not self.only:
            return frozenset()
        return frozenset(n for n, each in enumerate(orders) if each.order.id != self.only)

    def shown(self, orders: Sequence[LoadedOrder]) -> tuple[int, ...]:
        """Return the positions of the orders that the run's summary is about."""
        others = self.others(orders)
        return tuple(position for position in range(len(orders)) if position not in others)

    def describe(
        self, graph: OrderGraph, skipped: Collection[int], landed: Collection[int]
    ) -> tuple[str, ...]:
        """Return a line for each left-out order: the reason, and the orders that it blocks."""
        reasons = left_out(self.decisions)
        blocked = {each: sorted(graph.all_dependents(each).difference(landed)) for each in skipped}
        return tuple(
            f"{graph.ids[position]} is left out: {reasons[graph.ids[position]]}"
            f"{_blocking([graph.ids[each] for each in blocked[position]])}"
            for position in sorted(skipped)
        )


def _blocking(names: Sequence[str]) -> str:
    if not names:
        return ""
    need = "needs" if len(names) == 1 else "need"
    return f"; {', '.join(names)} {need} it and cannot be made"
