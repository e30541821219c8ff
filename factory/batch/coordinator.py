"""`run-all`: a manifest's orders in sequence, what has landed before left alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from factory.commit_facts import OrderIdentity, identify, landed_orders
from factory.options import RunOptions
from factory.orders import LoadedOrder, decide_exempt, read_workdir
from factory.preflight import Repo, Target, choose_target
from factory.run import begin_run, default_branch, describe_options, hold_repo, refuse_inside
from factory.schemas import BatchSummary, RunSummary
from factory.session import Session
from factory.summary import (
    Circumstances,
    batch_verdict,
    public_json,
    summarise_unexecuted,
    usage_record,
)
from shared.atomic_io import write_json
from shared.errors import LlmchError
from shared.events import BatchEnded, BatchStarted, Emit, OrderSkipped, Warned
from shared.llm.stack import ModelSource
from shared.llm.usage import usage_counted
from shared.run_context import Recording, new_run_id

_HISTORY = 10_000  # commits of the branch that are searched for landed orders


def run_all(workdir: Path, options: RunOptions, source: ModelSource, emit: Emit) -> BatchSummary:
    """Run the orders in `workdir` on one branch, up to the first that fails.

    Orders that this branch has already are skipped, so the same call again goes on where the last
    one stopped. Raises as `factory.run.run_order` does.
    """
    orders = read_workdir(workdir)
    with hold_repo(options, emit) as held:
        refuse_inside(held.repo, options.out, "--out")
        exemptions = [decide_exempt(each, allow=options.allow_verify_exempt) for each in orders]
        run_id = new_run_id()
        branch = options.branch or default_branch(orders[0].plan, run_id)
        target = choose_target(held.repo, branch, options.policy, options.protected, options.start)
        head = {"command": "run-all", "workdir": str(workdir), **describe_options(options, target)}
        with begin_run(options, source, held, target, run_id, head, emit) as (session, recording):
            warnings = [text for each in orders for text in each.warnings]
            for text in (*warnings, *(warning for _, warning in exemptions if warning)):
                recording.emit(Warned(text))
            batch = _Batch(session, recording, target.tip, _landed(held.repo, target))
            error = batch.run(orders, [exempt for exempt, _ in exemptions])
            summary = batch.summarise()
            if error:
                raise error
            if summary.tip != target.tip:
                session.push()
    if options.out is not None:
        write_json(options.out / f"{run_id}.json", public_json(summary))
    return summary


class _Batch:
    """The orders of one call, and what became of each so far."""

    def __init__(
        self,
        session: Session,
        recording: Recording,
        base: str,
        landed: Mapping[OrderIdentity, str],
    ) -> None:
        self._session = session
        self._recording = recording
        self._base = base
        self._landed = landed
        self._done: list[RunSummary] = []
        self._started = time.monotonic()

    def run(self, orders: Sequence[LoadedOrder], exempt: Sequence[bool]) -> LlmchError | None:
        """Execute the orders up to the first that fails; return what ends the run, if anything."""
        emit = self._recording.emit
        emit(BatchStarted(len(orders), self._session.branch, self._base))
        error: LlmchError | None = None
        stopped = False
        for loaded, is_exempt in zip(orders, exempt, strict=True):
            if stopped:
                self._done.append(self._not_executed(loaded, "pending", None))
            elif commit := self._landed_commit(loaded):
                emit(OrderSkipped(loaded.order.id, loaded.order.title, commit))
                self._done.append(self._not_executed(loaded, "skipped", commit))
            else:
                folder = self._recording.folder.path / loaded.order.id
                executed = self._session.execute(loaded, is_exempt, folder)
                self._done.append(executed.summary)
                error = executed.error
                stopped = executed.summary.state != "landed"
        return error

    def summarise(self) -> BatchSummary:
        """Write and announce the summary of the whole, and return it."""
        session, recording = self._session, self._recording
        summary = BatchSummary(
            verdict=batch_verdict(self._done),
            run_id=recording.folder.run_id,
            run_dir=str(recording.folder.path),
            branch=session.branch,
            base=self._base,
            tip=session.tip,
            orders=tuple(self._done),
            usage=usage_record(session.model.meter.run),
        )
        document = summary.model_dump(mode="json")
        write_json(recording.folder.path / "run_summary.json", document)
        recording.results["summary"] = public_json(summary)
        recording.emit(usage_counted(session.model.meter.run))
        recording.emit(
            BatchEnded(
                verdict=summary.verdict,
                branch=summary.branch,
                tip=summary.tip,
                landed=sum(each.state in ("landed", "skipped") for each in self._done),
                orders=len(self._done),
                seconds=time.monotonic() - self._started,
                repo=str(session.repo.tree),
                run_dir=summary.run_dir,
            )
        )
        return summary

    def _landed_commit(self, loaded: LoadedOrder) -> str | None:
        plan = loaded.plan.manifest_sha256 if loaded.plan else ""
        return self._landed.get(identify(loaded.order, plan))

    def _not_executed(
        self, loaded: LoadedOrder, state: Literal["skipped", "pending"], commit: str | None
    ) -> RunSummary:
        about = Circumstances(
            order=loaded.order.id,
            run_id=self._recording.folder.run_id,
            run_dir=self._recording.folder.path / loaded.order.id,
            branch=self._session.branch,
            parent=self._session.tip,
            warnings=loaded.warnings,
        )
        return summarise_unexecuted(state, about, commit)


def _landed(repo: Repo, target: Target) -> Mapping[OrderIdentity, str]:
    """Return the orders that the branch holds already."""
    if not target.exists:
        return {}
    return landed_orders(repo.git.messages(target.tip, limit=_HISTORY))
