"""Executes a plan for `run-all`: makes orders side by side, lands them in sequence on a branch."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Literal

from factory.batch.choice import Choice
from factory.batch.history import BranchHistory
from factory.batch.order_graph import derive_graph
from factory.batch.schedule import Schedule
from factory.batch.worker import LocalWorker, Worker
from factory.landing.reverify import SentBack
from factory.orders.documents import BatchSummary, RunSummary
from factory.orders.options import RunOptions
from factory.orders.order_state import OrderState
from factory.orders.read import LoadedOrder, read_workdir
from factory.orders.task import OrderResult, OrderTask
from factory.orders.verdict import Passed
from factory.record.journal_entries import OrderLanded
from factory.record.summary import (
    batch_verdict,
    public_json,
    summarise_unexecuted,
    usage_record,
)
from factory.recovery.signals import deferring_signals
from factory.run.commission import Commission
from factory.run.going_on import after_the_orders
from factory.run.one_order import begin_run
from factory.run.plan_forecast import announce_forecast
from factory.run.session import Session, error_of
from shared.errors import LlmchError
from shared.events.event import Emit
from shared.events.messages import Noted
from shared.events.orders import BatchEnded, BatchStarted, OrderSkipped
from shared.files.atomic_io import write_json
from shared.llm.cost.usage import usage_counted
from shared.llm.stack import Mode, ModelSource
from shared.run_record import Recording


def run_all(workdir: Path, options: RunOptions, source: ModelSource, emit: Emit) -> BatchSummary:
    """Run the orders in `workdir` on one branch and return the summary of all.

    Orders that the branch already has are skipped, so the same call again continues where the last
    one stopped. Raises as `factory.run.run_order` does.
    """
    orders = read_workdir(workdir)
    return run_orders(Commission("run-all", workdir, orders, options, source, emit))


def run_orders(commission: Commission, only: str = "", rest: str = "") -> BatchSummary:
    """Run the orders of a commission, or the one with the id `only`, as `run_all` does.

    The summary is then about that order alone. `rest` is the command that makes the others.
    """
    options, source = commission.options, commission.source
    with begin_run(commission) as run:
        session, recording = run.session, run.recording
        history = BranchHistory.of(run.target.tip, run.landed)
        batch = _Batch(run.orders, run.exempt, session, history, Choice(run.decisions, only))
        if (first := batch.first_to_make()) is not None:
            run.verify_base(first)
        if source.mode is Mode.LIVE and (remaining := batch.remaining()):
            announce_forecast(remaining, session)
        worker = LocalWorker(session.execution, options.jobs)
        try:
            error = batch.run(worker, options.jobs)
        except BaseException:
            with contextlib.suppress(LlmchError):  # the run's error matters more than the disk's
                batch.summarise(recording, cut_short=True)
            raise
        summary = batch.summarise(
            recording,
            lambda orders: after_the_orders(replace(run.standing, rest=rest), orders, error),
        )
        if any(each.state.is_on_branch for each in summary.orders):
            summary = summary.model_copy(update={"pushed": session.push()})
            recording.results["summary"] = public_json(summary)
        if error:
            raise error
    if options.out is not None:
        write_json(options.out / f"{summary.run_id}.json", public_json(summary))
    return summary


class _Batch:
    """Land the orders of one call in the plan's sequence; a worker makes them."""

    def __init__(
        self,
        orders: Sequence[LoadedOrder],
        exempt: Sequence[bool],
        session: Session,
        history: BranchHistory,
        choice: Choice,
    ) -> None:
        self._orders = orders
        self._exempt = exempt
        self._session = session
        self._root = session.parts.folder.path
        self._base = history.tip
        self._shown = choice.shown(orders)
        self._started = time.monotonic()
        self._summaries: dict[int, RunSummary] = {}
        self._under_way: dict[int, OrderTask] = {}
        self._made: dict[int, tuple[OrderTask, OrderResult]] = {}
        self._error: LlmchError | None = None
        landed, own = choice.landed([each.order.id for each in orders], history)
        start, since_start = history.continued(own)
        graph = derive_graph([each.order for each in orders])
        left_out = choice.left_out(orders, landed)
        self._left_out = () if choice.only else choice.describe(graph, left_out, landed)
        self._schedule = Schedule.of(
            graph,
            session.parts.options.keep_going,
            start,
            landed,
            [n for each in since_start for n, commit in landed.items() if commit == each],
            left_out,
            choice.others(orders),
        )

    def remaining(self) -> tuple[LoadedOrder, ...]:
        """Return the orders that are still to be made."""
        states = zip(self._orders, self._schedule.states, strict=True)
        return tuple(order for order, state in states if not state.is_over)

    def first_to_make(self) -> int | None:
        """Return the first order that is not on the branch; `None` if all are."""
        return next(iter(self._schedule.startable()), None)

    def run(self, worker: Worker, jobs: int) -> LlmchError | None:
        """Make and land the orders; return the error that ended the run early, if there is one."""
        emit = self._session.parts.emit
        emit(BatchStarted(len(self._shown), self._session.branch, self._base))
        for position, commit in sorted(self._schedule.commits.items()):
            order = self._orders[position].order
            self._session.parts.journal.record(OrderLanded(order.id, commit, skipped=True))
            if position in self._shown:
                emit(OrderSkipped(order.id, order.title, commit))
        for text in self._left_out:
            emit(Noted(text))
        running: dict[Future[OrderResult], tuple[int, OrderTask]] = {}
        try:
            while not self._schedule.over:
                for position in self._schedule.startable()[: jobs - len(running)]:
                    task = self._begin(position, self._schedule.base_of(position))
                    running[worker.submit(task)] = (position, task)
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    position, task = running.pop(future)
                    self._take(position, task, future.result())
                self._land_in_turn()
        except BaseException:
            worker.cancel()
            raise
        if running:
            worker.cancel()
        return self._error

    def summarise(
        self,
        recording: Recording,
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
            run_id=recording.folder.run_id,
            run_dir=str(self._root),
            branch=session.branch,
            base=self._base,
            tip=session.tip,
            orders=orders,
            usage=usage_record(session.parts.model.meter.run),
        )
        write_json(self._root / "run_summary.json", summary.model_dump(mode="json"))
        recording.results["summary"] = public_json(summary)
        recording.emit(usage_counted(session.parts.model.meter.run))
        recording.emit(
            BatchEnded(
                verdict=summary.verdict,
                branch=summary.branch,
                tip=summary.tip,
                landed=sum(each.state.is_on_branch for each in orders),
                orders=len(orders),
                seconds=time.monotonic() - self._started,
                repo=str(session.parts.repo.tree),
                run_dir=summary.run_dir,
                next_step=next_step(orders),
            )
        )
        return summary

    def _task(self, position: int, base: str) -> OrderTask:
        loaded = self._orders[position]
        folder = self._root / loaded.order.id
        return OrderTask(loaded, self._exempt[position], base, self._session.terms, folder)

    def _begin(self, position: int, base: str) -> OrderTask:
        task = self._task(position, base)
        self._schedule.states[position] = OrderState.RUNNING
        self._under_way[position] = task
        self._session.begin(task)
        return task

    def _take(self, position: int, task: OrderTask, result: OrderResult) -> None:
        if self._schedule.states[position] is OrderState.RUNNING:
            self._schedule.states[position] = OrderState.MADE
            self._made[position] = (task, result)
            if error_of(result):
                self._schedule.foresee_end(position)

    def _land_in_turn(self) -> None:
        while (position := self._schedule.next_to_land()) is not None:
            task, result = self._made.pop(position)
            fitting = self._session.fit(task, result)
            if isinstance(fitting, SentBack):
                fitting = self._make_again(task, fitting)
            with deferring_signals():
                self._land(position, task, fitting)

    def _land(self, position: int, task: OrderTask, result: OrderResult) -> None:
        parent = self._session.tip
        landed = self._session.land(task, result)
        if isinstance(landed.verdict, Passed):
            self._schedule.land(position, landed.verdict.commit)
        else:
            self._schedule.fail(position)
        if error := error_of(landed):
            self._error = error
            self._schedule.stop()
        self._summaries[position] = self._session.conclude(task, landed, parent)
        del self._under_way[position]

    def _make_again(self, task: OrderTask, back: SentBack) -> OrderResult:
        """Make an order again on the tip. Nothing else lands meanwhile, so its result fits."""
        self._session.parts.emit(
            Noted(f"{task.name}: sent back to be made on the tip: {back.reason}")
        )
        again = replace(task, base=self._session.tip, folder=task.folder / "on_the_tip")
        self._session.begin(again)
        return self._session.execution.make(again)

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
