"""Decides which step of an order starts when, and on which commit it is judged.

A commit lands as it was judged: on exactly the commit that it follows. So that an order need not
wait for all those before it to land, its proposal is judged on its *predicted* parent: the
candidate of the order before it, as it is. If that candidate fails, those behind it are dropped
and judged again. The prediction decides only when an order is judged, never on what.

The protocol is like `concurrent.futures`: a step goes in, a future comes out. A step names the
order and a commit; its outcome names a commit that the repo can find. Taking a step twice is
harmless: equal work has an equal key, and only the coordinator lands anything.

Everything here happens in one thread; the steps themselves run wherever the worker takes them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from enum import Enum, auto
from queue import Empty, SimpleQueue
from typing import Final, Protocol

from factory.attempt.attempt_state import first_state
from factory.batch.schedule import Schedule
from factory.orders.stages import OrderState
from factory.orders.task import Failed, OrderTask, Passed
from factory.run.execution import Assignment, Execution, OrderProgress
from factory.run.session import error_of
from factory.sandbox.supervision import end_all


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


# For all threads together. A thread that still waits for a model after that writes nothing.
_PATIENCE_SECONDS = 2.0
_WORKER_LOOK_EVERY_SECONDS = 0.05


class Worker(Protocol):
    """Take steps of orders, at most one of each order at a time."""

    def submit(self, assignment: Assignment) -> Future[OrderProgress]:
        """Start a step. The future fails only where the harness itself does."""

    def drop(self, assignment: Assignment) -> None:
        """End a running step early, because nobody wants its outcome; its future is done soon.

        Called again until the future is done: a command may have been about to start. Afterwards
        another step of the order may be submitted.
        """

    def cancel(self) -> None:
        """End the running steps; their futures may never be done."""


class LocalWorker:
    """Take steps in this process: at once with one job, else each in a thread."""

    def __init__(self, execution: Execution, jobs: int) -> None:
        self._execution = execution
        self._jobs = jobs
        self._threads: list[threading.Thread] = []
        self._futures: dict[Assignment, Future[OrderProgress]] = {}
        """The futures of the steps that are running."""
        self._let_go: set[Assignment] = set()
        """Dropped steps that still wait for a model; each has a thread and a workbench."""
        self._lock = threading.Lock()

    def submit(self, assignment: Assignment) -> Future[OrderProgress]:
        """Start a step; with one job it has been taken when this returns."""
        future: Future[OrderProgress] = Future()
        if self._jobs == 1:
            future.set_result(self._execution.take(assignment))
            return future
        # This is not a thread pool: at its end the interpreter waits for a pool's threads, and one
        # that waits for a model's reply would keep an interrupted run from ending.
        thread = threading.Thread(
            target=self._run, args=(assignment, future), name=assignment.task.name, daemon=True
        )
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        self._futures[assignment] = future
        thread.start()
        return future

    def drop(self, assignment: Assignment) -> None:
        """Kill the commands of a step, or let it go where it waits for a model.

        The reply is paid for, so it is recorded when it comes, but nothing waits for it. No more
        steps are let go at a time than there are jobs: others end when their model has replied.
        """
        waits_for_model = assignment.drop()
        if not waits_for_model:
            self._execution.end_commands(assignment)
            return
        with self._lock:
            future = self._futures.get(assignment)
            if future is None or len(self._let_go) == self._jobs:
                return
            self._let_go.add(assignment)
        _settle(future, assignment.made or OrderProgress(first_state()))

    def cancel(self) -> None:
        """Stop each order at its next step, and kill the running commands."""
        self._execution.cancelled.set()
        until = time.monotonic() + _PATIENCE_SECONDS
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < until:
                end_all()  # repeated, because a command may have been about to start
                thread.join(timeout=_WORKER_LOOK_EVERY_SECONDS)

    def _run(self, assignment: Assignment, future: Future[OrderProgress]) -> None:
        try:
            _settle(future, self._execution.take(assignment))
        except BaseException as error:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(error)
        finally:
            with self._lock:
                del self._futures[assignment]
                self._let_go.discard(assignment)


def _settle(future: Future[OrderProgress], made: OrderProgress) -> None:
    with contextlib.suppress(InvalidStateError):  # the step was let go
        future.set_result(made)


_LOOK_EVERY_SECONDS: Final = 0.05


class Signals(Protocol):
    """React to what happens to the orders of a train."""

    def begin(self, position: int) -> OrderTask:
        """Begin an order, because its first step starts; return its task."""

    def stays_failed(self, position: int, made: OrderProgress) -> bool:
        """Return whether an order that failed has failed where it would land as well."""

    def coupled(self, position: int, commit: str, parent: str, ahead: list[int]) -> None:
        """Note that `commit` is judged on `parent`; the orders `ahead` may still fail."""

    def dropped(self, position: int, because: int, again: OrderProgress) -> None:
        """Note that `again` is judged again, because of the earlier order `because`."""


class OrderDriver:
    """Drive the orders of a run, at most `jobs` steps at a time; judging does not count asking.

    `tasks` holds each order that has begun, and `progress` how far it has come.
    """

    def __init__(
        self, schedule: Schedule, train: Train, worker: Worker, jobs: int, signals: Signals
    ) -> None:
        self._schedule = schedule
        self._train = train
        self._worker = worker
        self._jobs = jobs
        self._signals = signals
        self._running: dict[int, Assignment] = {}
        self._unjudged: dict[int, OrderProgress] = {}
        """The first proposal of each order. An order that is dropped goes back to it."""
        self._drops: Counter[int] = Counter()
        self._happened: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.tasks: dict[int, OrderTask] = {}
        self.progress: dict[int, OrderProgress] = {}

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    def make_again(self, position: int, task: OrderTask) -> None:
        """Make an order again from the beginning, on another base."""
        self.tasks[position] = task
        self._forget(position)
        self._schedule.forget_end(position)
        self._schedule.states[position] = OrderState.WAITING
        self._drop_derailed()

    def release(self, position: int) -> None:
        """Forget an order that is over: what its model was shown and proposed may be large."""
        del self.tasks[position]
        self._forget(position)

    def _forget(self, position: int) -> None:
        for known in (self.progress, self._unjudged):
            known.pop(position, None)
        self._train.drop(position)

    def start_steps(self) -> None:
        """Start the steps for which there is room, those of earlier orders first.

        Steps that wait for models, which may take minutes, leave the room for judging free.
        """
        for position, parent in sorted(self._startable()):
            if position not in self._running and self._has_room(judging=bool(parent)):
                self._start(position, parent)

    def _has_room(self, *, judging: bool) -> bool:
        if judging and self._jobs > 1:  # with one job, a step ends before the next begins
            judged = sum(bool(each.parent) for each in self._running.values())
            return judged < self._jobs
        return len(self._running) < self._jobs

    def _startable(self) -> Iterator[tuple[int, str]]:
        if self._has_room(judging=False):
            yield from ((position, "") for position in self._schedule.startable())
        for position, parent in self._train.to_judge():
            if self._schedule.may_start(position):
                yield position, parent

    def _start(self, position: int, parent: str) -> None:
        states = self._schedule.states
        if position not in self.tasks:
            self.tasks[position] = self._signals.begin(position)
        if parent:
            states[position] = OrderState.JUDGING
            self._train.couple(position, parent)
        else:
            states[position] = OrderState.PROPOSING

        def announce(commit: str) -> None:
            self._happened.put(lambda: self._announced(position, assignment, commit))

        def done(future: Future[OrderProgress]) -> None:
            self._happened.put(lambda: self._ended(position, assignment, future))

        made, drops = self.progress.get(position), self._drops[position]
        assignment = Assignment(self.tasks[position], made, parent, announce, drops)
        self._running[position] = assignment
        self._worker.submit(assignment).add_done_callback(done)

    def hear(self) -> None:
        """Wait until something happens, take note of it, and drop what it derailed."""
        wait: float | None = None
        for each in self._running.values():
            if each.dropped.is_set():
                self._worker.drop(each)
                wait = _LOOK_EVERY_SECONDS
        assert self._running or not self._happened.empty(), "nothing runs, so nothing can happen"
        with contextlib.suppress(Empty):
            self._happened.get(timeout=wait)()
            while True:
                self._happened.get_nowait()()
        self._drop_derailed()

    def _announced(self, position: int, assignment: Assignment, commit: str) -> None:
        if assignment.dropped.is_set():
            return
        ahead = self._train.ahead_of(position)
        self._train.announce(position, commit)
        self._signals.coupled(position, commit, assignment.parent, ahead)

    def _ended(self, position: int, assignment: Assignment, future: Future[OrderProgress]) -> None:
        del self._running[position]
        made = future.result()
        if not assignment.dropped.is_set():
            self._take(position, assignment, made)

    def _take(self, position: int, assignment: Assignment, made: OrderProgress) -> None:
        states = self._schedule.states
        if states[position].is_over:
            return
        self.progress[position] = made
        if made.result is not None or made.unfit:
            states[position] = OrderState.JUDGED
            outcome = self._outcome(position, made)
            self._train.conclude(position, outcome)
            if self._ends_the_run(made, outcome):
                self._schedule.foresee_end(position)
        elif made.is_proposed:
            states[position] = OrderState.PROPOSED
            self._unjudged.setdefault(position, made)
        else:
            states[position] = OrderState.WAITING
            self._train.retry(position)

    def _outcome(self, position: int, made: OrderProgress) -> Outcome:
        verdict = made.result.verdict if made.result else None
        if isinstance(verdict, Passed):
            return Outcome.PASSED
        if not isinstance(verdict, Failed) or not self._signals.stays_failed(position, made):
            return Outcome.UNDECIDED
        # An order that failed without a commit to follow is made again if another lands before it.
        on_a_parent = self._train.judged_on(position) or self._schedule.is_next(position)
        return Outcome.FAILED if on_a_parent else Outcome.UNDECIDED

    def _ends_the_run(self, made: OrderProgress, outcome: Outcome) -> bool:
        if outcome is Outcome.FAILED:
            return not self._schedule.keep_going
        return made.result is not None and error_of(made.result) is not None

    def _drop_derailed(self) -> None:
        """Drop the judgements of orders on a commit that will not be their parent."""
        derailed = self._train.derailed()
        if not derailed:
            return
        because = self._schedule.last_unfinished_before(derailed[0])
        for position in derailed:
            self._train.drop(position)
            self._drops[position] += 1
            self._schedule.forget_end(position)
            self._schedule.states[position] = OrderState.PROPOSED
            self.progress[position] = self._unjudged[position]
            if position in self._running:
                self._worker.drop(self._running[position])
            self._signals.dropped(position, because, self._unjudged[position])
