"""Executes a plan: lands its orders in sequence, and sums them up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from factory.batch.order_driver import LocalWorker, OrderDriver, Train, Worker
from factory.batch.order_graph import derive_graph
from factory.batch.schedule import BranchHistory, Choice, Schedule, places_for
from factory.orders.documents import BatchSummary, RunSummary
from factory.orders.read_orders import LoadedOrder, read_workdir
from factory.orders.stages import OrderState
from factory.orders.task import OrderResult, OrderTask, Passed, RunOptions
from factory.record import journal_entries
from factory.record.progress import abridged
from factory.record.summary import batch_verdict, public_json, summarise_unexecuted
from factory.run.execution import OrderProgress, prepare_graph
from factory.run.forecast import announce_forecast
from factory.run.recovery import deferring_signals
from factory.run.run_order import begin_run
from factory.run.run_request import Request, after_the_orders
from factory.run.session import Session, error_of
from shared.errors import LlmchError
from shared.events.events import (
    BatchEnded,
    BatchStarted,
    CandidateCoupled,
    CandidateDropped,
    Emit,
    Noted,
    OrderSkipped,
)
from shared.files.atomic_io import write_json
from shared.llm.stack import Mode, ModelSource
from shared.llm.usage import usage_counted, usage_record


class Batch:
    """Land the orders of one call in the plan's sequence; a worker takes their steps."""

    def __init__(self, session: Session, history: BranchHistory, choice: Choice) -> None:
        self._session = session
        self._orders = orders = session.request.orders
        self._root = session.run.folder.path
        self._base = history.tip
        self._shown = choice.shown(orders)
        self._started = time.monotonic()
        self._summaries: dict[int, RunSummary] = {}
        self._under_way: dict[int, OrderTask] = {}
        self._error: LlmchError | None = None
        landed, own = choice.landed([each.order.id for each in orders], history)
        start, since_start = history.start_before(own)
        graph = derive_graph([each.order for each in orders])
        left_out = choice.left_out(orders, landed)
        self._left_out_lines = () if choice.only else choice.describe(graph, left_out, landed)
        self._schedule = Schedule.of(
            graph,
            session.run.options.keep_going,
            start,
            landed,
            _in_sequence(landed, since_start),
            left_out,
            choice.others(orders),
            places_for(session.run.options.jobs),
        )
        self._train = Train(self._schedule, session.tip)

    def remaining(self) -> tuple[LoadedOrder, ...]:
        """Return the orders that are still to be made."""
        states = zip(self._orders, self._schedule.states, strict=True)
        return tuple(order for order, state in states if not state.is_over)

    def first_to_make(self) -> int | None:
        """Return the first order that is not on the branch; `None` if all are."""
        return next(iter(self._schedule.startable()), None)

    def run(self, worker: Worker, jobs: int) -> LlmchError | None:
        """Make and land the orders; return the error that ended the run early, if there is one."""
        emit = self._session.run.emit
        emit(BatchStarted(len(self._shown), self._session.branch, self._base))
        for position, commit in sorted(self._schedule.commits.items()):
            order = self._orders[position].order
            self._session.run.journal.record(
                journal_entries.OrderLanded(order.id, commit, skipped=True)
            )
            if position in self._shown:
                emit(OrderSkipped(order.id, order.title, commit))
        for text in self._left_out_lines:
            emit(Noted(text))
        driver = OrderDriver(self._schedule, self._train, worker, jobs, self)
        try:
            while not self._schedule.over:
                driver.start_steps()
                driver.hear()
                while (turn := self._schedule.next_to_land()) is not None:
                    self._settle(turn, driver)
        except BaseException:
            worker.cancel()
            raise
        if driver.is_busy:
            worker.cancel()
        return self._error

    def begin(self, position: int) -> OrderTask:
        """Begin an order on the commit of the last order that it needs."""
        task = self._task(position, self._schedule.base_of(position))
        self._under_way[position] = task
        self._session.begin(task)
        return task

    def stays_failed(self, position: int, made: OrderProgress) -> bool:
        """Return whether an order that failed has failed for good where it was judged."""
        task, judged_on = self._under_way[position], self._train.judged_on(position)
        return not self._session.why_again(task, made, judged_on)

    def coupled(self, position: int, commit: str, parent: str, ahead: Sequence[int]) -> None:
        """Record and announce on which commit an order is judged."""
        name, names = self._name(position), tuple(map(self._name, ahead))
        parts = self._session.run
        parts.journal.record(journal_entries.CandidateCoupled(name, commit, parent, names))
        parts.emit(CandidateCoupled(name, commit, parent, names))

    def dropped(self, position: int, because: int, again: OrderProgress) -> None:
        """Record and announce that an order is judged again."""
        name, cause = self._name(position), self._name(because)
        attempt, past = again.state["attempt"].number, again.state["past"]
        failure = abridged(past[-1].brief.failure) if past else None
        self._session.run.journal.record(
            journal_entries.CandidateDropped(name, cause, attempt, failure)
        )
        self._session.run.emit(CandidateDropped(name, cause))

    def summarise(
        self,
        next_step: Callable[[Sequence[RunSummary]], str] = lambda orders: "",
        *,
        cut_short: bool = False,
    ) -> BatchSummary:
        """Write, announce and return the summary of the whole run.

        `next_step` says what to do after these orders. `cut_short` says that the run was ended from
        outside.
        """
        session = self._session
        self._stop_unfinished(cut_short=cut_short)
        orders = tuple(map(self._summary, self._shown))
        summary = BatchSummary(
            verdict="ERROR" if cut_short else batch_verdict(orders),
            run_id=session.run.folder.run_id,
            run_dir=str(self._root),
            branch=session.branch,
            base=self._base,
            tip=session.tip,
            orders=orders,
            usage=usage_record(session.run.model.meter.run),
        )
        write_json(self._root / "run_summary.json", summary.model_dump(mode="json"))
        session.results["summary"] = public_json(summary)
        session.run.emit(usage_counted(session.run.model.meter.run))
        session.run.emit(
            BatchEnded(
                verdict=summary.verdict,
                branch=summary.branch,
                tip=summary.tip,
                landed=sum(each.state.is_on_branch for each in orders),
                orders=len(orders),
                seconds=time.monotonic() - self._started,
                repo=str(session.run.repo.tree),
                run_dir=summary.run_dir,
                next_step=next_step(orders),
            )
        )
        return summary

    def _name(self, position: int) -> str:
        return self._orders[position].order.id

    def _task(self, position: int, base: str) -> OrderTask:
        return self._session.task(position, base, self._root / self._name(position))

    def _settle(self, position: int, driver: OrderDriver) -> None:
        """Land an order whose turn has come, or make it again on the tip.

        An order made on the tip is not made again, because nothing else lands meanwhile.
        """
        task, made = driver.tasks[position], driver.progress[position]
        judged_on = self._train.judged_on(position)
        if why := self._session.why_again(task, made, judged_on):
            self._session.run.emit(Noted(f"{task.name}: sent back to be made on the tip: {why}"))
            again = replace(task, base=self._session.tip, folder=task.folder / "on_the_tip")
            self._under_way[position] = again
            self._session.begin(again)
            driver.make_again(position, again)
            return
        assert made.result is not None, "what is judged has a result, or is made again"
        with deferring_signals():
            self._land(position, task, made.result)
        driver.release(position)

    def _land(self, position: int, task: OrderTask, result: OrderResult) -> None:
        parent = self._session.tip
        landed = self._session.land(task, result)
        if isinstance(landed.verdict, Passed):
            self._schedule.land(position, landed.verdict.commit)
            self._train.land(position, landed.verdict.commit)
        else:
            self._schedule.fail(position)
            self._train.drop(position)
        if error := error_of(landed):
            self._error = error
            self._schedule.stop()
        self._summaries[position] = self._session.conclude(task, landed, parent)
        del self._under_way[position]

    def _stop_unfinished(self, *, cut_short: bool) -> None:
        """Record how far the orders came that were running when the run ended."""
        cause = "interrupted" if cut_short else "the run ended before this order did"
        for position, task in sorted(self._under_way.items()):
            if not self._schedule.states[position].is_on_branch:
                self._summaries[position] = self._session.stop(
                    task, cause, self._session.tip, "ERROR" if cut_short else "FAIL"
                )

    def _summary(self, position: int) -> RunSummary:
        if position in self._summaries:
            return self._summaries[position]
        task = self._task(position, "")
        state: Literal[
            OrderState.SKIPPED, OrderState.BLOCKED, OrderState.PENDING, OrderState.LEFT_OUT
        ]
        commit, warnings = None, task.loaded.warnings
        match self._schedule.states[position]:
            # An order that landed has a summary of its own, unless the disk refused it.
            case OrderState.SKIPPED | OrderState.LANDED:
                state, commit = OrderState.SKIPPED, self._schedule.commits[position]
            case OrderState.LEFT_OUT:
                state = OrderState.LEFT_OUT
            case OrderState.BLOCKED:
                cause = self._orders[self._schedule.causes[position]].order.id
                state, warnings = OrderState.BLOCKED, (*warnings, f"blocked by {cause}")
            case _:
                state = OrderState.PENDING
        about = self._session.circumstances(task, self._session.tip)
        return summarise_unexecuted(state, replace(about, warnings=warnings), commit)


def _in_sequence(landed: Mapping[int, str], commits: Sequence[str]) -> list[int]:
    place = {commit: number for number, commit in enumerate(commits)}
    return sorted(
        (each for each, commit in landed.items() if commit in place),
        key=lambda each: (place[landed[each]], each),
    )


@dataclass(frozen=True, slots=True)
class WorkerKind:
    """Say what takes the steps of a run's orders, and what is imported for it meanwhile."""

    open: Callable[[Session], AbstractContextManager[Worker]]
    import_ahead: Callable[[], None]


@contextlib.contextmanager
def _local_worker(session: Session) -> Iterator[Worker]:
    yield LocalWorker(session.execution, session.run.options.jobs)


THIS_PROCESS: Final = WorkerKind(_local_worker, prepare_graph)


def run_all(
    workdir: Path,
    options: RunOptions,
    source: ModelSource,
    emit: Emit,
    kind: WorkerKind = THIS_PROCESS,
) -> BatchSummary:
    """Run the orders in `workdir` on one branch and return the summary of all.

    Orders that the branch already has are skipped, so the same call again continues where the last
    one stopped. Raises as `factory.run.run_order` does.
    """
    orders = read_workdir(workdir)
    request = Request("run-all", workdir, orders, options, source, kind.import_ahead)
    return run_orders(request, emit, kind=kind)


def run_orders(
    request: Request, emit: Emit, only: str = "", rest: str = "", kind: WorkerKind = THIS_PROCESS
) -> BatchSummary:
    """Run the orders of a request, or the one with the id `only`, as `run_all` does.

    The summary is then about that order alone. `rest` is the command that makes the others.
    """
    options, source = request.options, request.source
    with begin_run(request, emit) as session:
        outset = session.outset
        history = BranchHistory.of(outset.target.tip, outset.landed)
        batch = Batch(session, history, Choice(outset.decisions, only))
        if (first := batch.first_to_make()) is not None:
            session.verify_base(first)
        remaining = [each for each in batch.remaining() if not options.carries(each.order.id)]
        if source.mode is Mode.LIVE and not options.given and remaining:
            announce_forecast(remaining, session.run, session.tip)
        try:
            with kind.open(session) as worker:
                error = batch.run(worker, options.jobs)
        except BaseException:
            with contextlib.suppress(LlmchError):  # the run's error matters more than the disk's
                batch.summarise(cut_short=True)
            raise
        summary = batch.summarise(
            lambda orders: after_the_orders(replace(session.continuation, rest=rest), orders, error)
        )
        if any(each.state.is_on_branch for each in summary.orders):
            summary = summary.model_copy(update={"pushed": session.push()})
            session.results["summary"] = public_json(summary)
        if error:
            raise error
    if options.out is not None:
        write_json(options.out / f"{summary.run_id}.json", public_json(summary))
    return summary
