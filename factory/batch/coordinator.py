"""Executes a plan for `run-all`: begins the run, has its orders made and landed, and ends it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.attempt.graph import prepare_graph
from factory.batch.batch import Batch
from factory.batch.choice import Choice
from factory.batch.history import BranchHistory
from factory.batch.worker import LocalWorker, Worker
from factory.orders.documents import BatchSummary
from factory.orders.options import RunOptions
from factory.orders.read import read_workdir
from factory.record.summary import public_json
from factory.run.commission import Commission
from factory.run.going_on import after_the_orders
from factory.run.one_order import begin_run
from factory.run.plan_forecast import announce_forecast
from factory.run.session import Session
from shared.errors import LlmchError
from shared.events.event import Emit
from shared.files.atomic_io import write_json
from shared.llm.stack import Mode, ModelSource


@dataclass(frozen=True, slots=True)
class WorkerKind:
    """Say what takes the steps of a run's orders, and what is imported for it meanwhile."""

    open: Callable[[Session], AbstractContextManager[Worker]]
    import_ahead: Callable[[], None]


@contextlib.contextmanager
def _local_worker(session: Session) -> Iterator[Worker]:
    yield LocalWorker(session.execution, session.parts.options.jobs)


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
    commission = Commission("run-all", workdir, orders, options, source, emit, kind.import_ahead)
    return run_orders(commission, kind=kind)


def run_orders(
    commission: Commission,
    only: str = "",
    rest: str = "",
    kind: WorkerKind = THIS_PROCESS,
) -> BatchSummary:
    """Run the orders of a commission, or the one with the id `only`, as `run_all` does.

    The summary is then about that order alone. `rest` is the command that makes the others.
    """
    options, source = commission.options, commission.source
    with begin_run(commission) as run:
        session, recording = run.session, run.recording
        history = BranchHistory.of(run.target.tip, run.landed)
        batch = Batch(run.orders, run.exempt, session, history, Choice(run.decisions, only))
        if (first := batch.first_to_make()) is not None:
            run.verify_base(first)
        if source.mode is Mode.LIVE and (remaining := batch.remaining()):
            announce_forecast(remaining, session)
        try:
            with kind.open(session) as worker:
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
