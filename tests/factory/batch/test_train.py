"""The train, driven by a worker that ends its steps in any sequence: what lands, and on what."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factory.attempt.attempt_state import Attempt, first_state
from factory.batch.order_driver import OrderDriver, Train
from factory.batch.order_graph import OrderGraph
from factory.batch.schedule import Schedule, places_for
from factory.orders.documents import FailureBrief, FileWrite, WriteProposal
from factory.orders.stages import OrderState, Stage
from factory.orders.task import Errored, Failed, OrderResult, OrderTask, Passed
from factory.run.execution import Assignment, OrderProgress
from factory.run.session import error_of
from shared.errors import CommandFailed
from shared.work_order.parse_order import EMPTY_SHA256
from tests.factory.batch.test_schedule import START, failures, graphs, turns, widths

ATTEMPTS = 2
PROPOSAL = WriteProposal(
    summary="", writes=(FileWrite(path="a", base_sha256=EMPTY_SHA256, content=""),)
)
BRIEF = FailureBrief(stage=Stage.VERIFY_FAILED, primary_error_excerpt="")


@dataclass(frozen=True)
class Fate:
    """Which orders fail each time, and what else goes wrong at first, here and there.

    What comes of an attempt depends on nothing but the order, its base, the attempt and the parent.
    """

    failing: frozenset[int]
    moods: int

    def proposes(self, position: int, base: str) -> bool:
        return not self._happens("refused", 5, position, base)

    def fits(self, position: int, base: str, parent: str) -> bool:
        return parent == base or not self._happens("unfit", 5, position, base, parent)

    def errs(self, position: int, attempt: int, parent: str) -> bool:
        return self._happens("error", 4, position, attempt, parent)

    def passes(self, position: int, attempt: int, parent: str) -> bool:
        if position in self.failing:
            return False
        return attempt == ATTEMPTS or not self._happens("wrong", 2, position, attempt, parent)

    def _happens(self, what: str, one_in: int, *where: object) -> bool:
        said = hashlib.sha256(f"{self.moods} {what} {where}".encode()).digest()
        return self.moods != 0 and said[0] % one_in == 0


def commit_of(position: int, attempt: int, parent: str) -> str:
    return hashlib.sha256(f"{position} {attempt} {parent}".encode()).hexdigest()[:8]


@dataclass
class PickyWorker:
    """Takes no step by itself: `step_once` ends one of those that were submitted."""

    fate: Fate
    running: list[tuple[Assignment, Future[OrderProgress]]] = field(default_factory=list)
    announced: set[Assignment] = field(default_factory=set)
    judged: list[tuple[int, int, str]] = field(default_factory=list)
    most_at_once: int = 0

    @property
    def positions(self) -> list[int]:
        return [position_of(assignment) for assignment, _ in self.running]

    def submit(self, assignment: Assignment) -> Future[OrderProgress]:
        assert position_of(assignment) not in self.positions
        future: Future[OrderProgress] = Future()
        self.running.append((assignment, future))
        self.most_at_once = max(self.most_at_once, len(self.running))
        return future

    def drop(self, assignment: Assignment) -> None:
        assignment.drop()

    def cancel(self) -> None:
        self.running.clear()

    def step_once(self, pick: int) -> None:
        """Announce the commit of a step, or end the step where that was done."""
        assignment, future = self.running[pick % len(self.running)]
        state = assignment.made.state if assignment.made else first_state()
        attempt, fate, base = state["attempt"], self.fate, assignment.task.base
        if not assignment.parent and not fate.proposes(position_of(assignment), base):
            self._end(assignment, future, OrderProgress(state, OrderResult(Failed(BRIEF), ())))
            return
        if not assignment.parent:
            state = {**state, "attempt": replace(attempt, proposal=PROPOSAL)}
            self._end(assignment, future, OrderProgress(state))
            return
        position, commit = (
            position_of(assignment),
            commit_of(position_of(assignment), attempt.number, assignment.parent),
        )
        if not fate.fits(position, base, assignment.parent):
            self._end(assignment, future, OrderProgress(state, unfit="files have changed"))
        elif assignment not in self.announced:
            self.announced.add(assignment)
            self.judged.append((position, attempt.number, assignment.parent))
            assignment.announce(commit)
        elif fate.errs(position, attempt.number, assignment.parent):
            error = CommandFailed("the disk is full")
            self._end(assignment, future, OrderProgress(state, OrderResult(Errored("", error), ())))
        elif fate.passes(position, attempt.number, assignment.parent):
            self._end(
                assignment,
                future,
                OrderProgress(state, OrderResult(Passed(commit, "", (), ""), ())),
            )
        elif attempt.number == ATTEMPTS:
            self._end(assignment, future, OrderProgress(state, OrderResult(Failed(BRIEF), ())))
        else:
            self._end(
                assignment, future, OrderProgress({**state, "attempt": Attempt(attempt.number + 1)})
            )

    def _end(
        self, assignment: Assignment, future: Future[OrderProgress], made: OrderProgress
    ) -> None:
        self.running = [each for each in self.running if each[0] is not assignment]
        future.set_result(made)


def position_of(assignment: Assignment) -> int:
    return int(assignment.task.folder.name)


@dataclass
class Run:
    """A run without a repo: what lands is a list of commits."""

    graph: OrderGraph
    fate: Fate
    keep_going: bool
    jobs: int
    places: int = 8
    there: frozenset[int] = frozenset()
    """The orders for which commits of a person stand, whatever those that they need are."""
    landed: dict[int, str] = field(default_factory=dict)
    bases: dict[int, str] = field(default_factory=dict)
    dropped_orders: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        there = {each: f"of a person {each}" for each in self.there if each < len(self.graph.ids)}
        self.schedule = Schedule.of(
            self.graph, self.keep_going, START, there, (), places=self.places
        )
        self.train = Train(self.schedule, START)
        self.worker = PickyWorker(self.fate)
        self.driver = OrderDriver(self.schedule, self.train, self.worker, self.jobs, self)

    def begin(self, position: int) -> OrderTask:
        base = self.bases[position] = self.schedule.base_of(position)
        nothing = cast(OrderTask, None)
        return OrderTask(nothing, nothing, base, nothing, Path(str(position)))  # type: ignore[arg-type]

    def stays_failed(self, position: int, made: OrderProgress) -> bool:
        on_its_base = self.driver.tasks[position].base == self.train.tip
        return bool(self.train.judged_on(position)) or on_its_base

    def coupled(self, position: int, commit: str, parent: str, ahead: Sequence[int]) -> None:
        possible = [commit_of(position, each + 1, parent) for each in range(ATTEMPTS)]
        assert commit in possible
        assert all(each < position for each in ahead)
        assert len(ahead) < self.places
        assert all(each in self.driver.tasks for each in ahead)

    def dropped(self, position: int, because: int, again: OrderProgress) -> None:
        assert again.is_proposed
        assert because < position
        self.dropped_orders.append(position)

    def to_the_end(self, picks: Sequence[int]) -> Run:
        turns = iter(picks)
        self.driver.start_steps()
        while not self.schedule.over:
            self.advance(next(turns, 0))
        return self

    def advance(self, pick: int) -> None:
        """End or announce a step, land what can land, and start what can start."""
        if self.worker.running:
            self.worker.step_once(pick)
        self.driver.hear()
        while (position := self.schedule.next_to_land()) is not None:
            self._settle(position)
        if not self.schedule.over:
            self.driver.start_steps()

    def _settle(self, position: int) -> None:
        made, task = self.driver.progress[position], self.driver.tasks[position]
        result = made.result
        if made.unfit or (not self.train.judged_on(position) and task.base != self.train.tip):
            again = replace(task, base=self.train.tip)
            self.driver.make_again(position, again)
            return
        assert result is not None
        if isinstance(result.verdict, Passed):
            assert self.train.judged_on(position) == self.train.tip
            self.landed[position] = result.verdict.commit
            self.schedule.land(position, result.verdict.commit)
            self.train.land(position, result.verdict.commit)
        else:
            self.schedule.fail(position)
            self.train.drop(position)
        if error_of(result):
            self.schedule.stop()
        self.driver.release(position)


class WatchedRun(Run):
    """A run that checks at the start of each order that it is among the first unfinished ones."""

    def begin(self, position: int) -> OrderTask:
        unfinished = [n for n, state in enumerate(self.schedule.states) if not state.is_over]
        assert position in unfinished[: self.places]
        return super().begin(position)


fates = st.builds(Fate, failures, st.integers(0, 10_000))


@pytest.mark.rest
@settings(max_examples=500, deadline=None)
@given(
    graphs(),
    fates,
    st.integers(0, 2**32),
    widths,
    st.integers(1, 8),
    st.booleans(),
    st.frozensets(st.integers(0, 7), max_size=3),
)
def test_what_lands_is_what_lands_with_one_job(
    graph: OrderGraph,
    fate: Fate,
    seed: int,
    jobs: int,
    places: int,
    keep_going: bool,
    there: frozenset[int],
) -> None:
    picks = random.Random(seed).choices(range(8), k=200)  # a list of hypothesis is mostly short
    alone = Run(graph, fate, keep_going, 1, there=there).to_the_end(())
    together = WatchedRun(graph, fate, keep_going, jobs, places, there).to_the_end(picks)
    assert together.landed == alone.landed
    assert all(together.bases[each] == alone.bases[each] for each in together.landed)
    assert together.schedule.states == alone.schedule.states
    assert together.worker.most_at_once <= (2 * jobs if jobs > 1 else 1)
    assert alone.worker.most_at_once <= 1
    assert together.driver.progress.keys() <= together.driver.tasks.keys()
    assert alone.dropped_orders == []


@pytest.mark.rest
@settings(max_examples=200, deadline=None)
@given(graphs(), turns, widths)
def test_where_nothing_fails_each_order_is_judged_once_and_where_it_lands(
    graph: OrderGraph, picks: list[int], jobs: int
) -> None:
    run = Run(graph, Fate(frozenset(), 0), False, jobs).to_the_end(picks)
    parents = [START, *run.landed.values()]
    assert sorted(run.worker.judged) == [(n, 1, parents[n]) for n in range(len(graph.ids))]
    assert run.dropped_orders == []


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 8), st.integers(0, 7), turns, widths)
def test_a_failure_has_only_those_behind_it_judged_again(
    count: int, failing: int, picks: list[int], jobs: int
) -> None:
    failing %= count
    graph = OrderGraph(
        tuple(f"WO-{n}" for n in range(count)), ("",) * count, (frozenset[int](),) * count
    )
    run = Run(graph, Fate(frozenset({failing}), 0), True, jobs).to_the_end(picks)
    times = [sum(each[0] == n for each in run.worker.judged) for n in range(count)]
    assert times[: failing + 1] == [1] * failing + [ATTEMPTS]
    # Each attempt that fails takes along what was coupled to it.
    assert all(each <= 1 + ATTEMPTS for each in times[failing + 1 :])
    assert [run.schedule.states[n] for n in range(count)].count(OrderState.FAILED) == 1


def independent(count: int) -> OrderGraph:
    ids = tuple(f"WO-{n}" for n in range(count))
    return OrderGraph(ids, ids, (frozenset[int](),) * count)


@dataclass(frozen=True)
class WrongAtFirst(Fate):
    """The first order is right at its second attempt; on its first one, the second order errs."""

    failing: frozenset[int] = frozenset()
    moods: int = 0

    def passes(self, position: int, attempt: int, parent: str) -> bool:
        return (position, attempt) != (0, 1)

    def errs(self, position: int, attempt: int, parent: str) -> bool:
        return position == 1 and parent == commit_of(0, 1, START)


@pytest.mark.parametrize("jobs", [2, 4])
def test_a_proposal_is_judged_as_soon_as_its_parent_is_known_though_models_take_long(
    jobs: int,
) -> None:
    run = Run(independent(8), Fate(frozenset(), 0), False, jobs)
    run.driver.start_steps()
    for replied in (1, 0):
        run.advance(run.worker.positions.index(replied))
    assert run.worker.positions[-1] == 0, "the first order is judged"
    assert 1 not in run.worker.positions
    run.advance(run.worker.positions.index(0))
    (second,) = [each for each, _ in run.worker.running if position_of(each) == 1]
    assert second.parent == commit_of(0, 1, START), "what the first order announced"
    asking = [each for each, _ in run.worker.running if not each.parent]
    assert len(asking) == jobs - 1


def test_an_error_behind_a_candidate_that_fails_does_not_end_the_run() -> None:
    proposed, second = [0, 0], 1
    picks = [*proposed, 0, second, second]
    run = Run(independent(2), WrongAtFirst(), False, 2).to_the_end(picks)
    assert (1, 1, commit_of(0, 1, START)) in run.worker.judged
    assert run.dropped_orders == [1]
    assert run.schedule.states == [OrderState.LANDED, OrderState.LANDED]


@pytest.mark.parametrize(("jobs", "behind"), [(2, 7), (4, 7), (8, 15), (20, 39)])
@pytest.mark.parametrize("is_judged", [False, True])
def test_behind_a_slow_order_only_so_many_are_made_and_judged(
    jobs: int, behind: int, is_judged: bool
) -> None:
    run = Run(independent(100), Fate(frozenset(), 0), False, jobs, places_for(jobs))
    run.driver.start_steps()
    for _ in range(2 * is_judged):  # its model replies, and its commit is made
        run.advance(run.worker.positions.index(0))
    while others := [n for n, position in enumerate(run.worker.positions) if position]:
        run.advance(others[0])
    assert len(run.driver.tasks) == 1 + behind
    assert len(run.worker.judged) == is_judged * (1 + behind)
    assert run.landed == {}


def test_what_is_over_is_not_kept() -> None:
    run = Run(independent(20), Fate(frozenset(), 0), False, 4).to_the_end(())
    assert run.driver.tasks == {}
    assert run.driver.progress == {}
