"""Puts the steps of a run into the queue, and clears up after it."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.attempt.attempt_state import Run, first_state
from factory.fleet.database import Database
from factory.fleet.job_queue import Queue
from factory.fleet.leases import (
    Lease,
    Link,
    forget_events,
    forget_takeovers,
    forget_workers,
    mark_cleared,
    run_of,
    runner_of,
    workers_seen,
)
from factory.fleet.outcomes import LOOK_EVERY_SECONDS, AskedSteps, Outcomes, OutcomeWatch
from factory.fleet.shared_state import (
    failed_run,
    forget_candidates,
    forget_spending,
    record_failures,
    transcript_lines,
)
from factory.fleet.wire import Job, Kind, StepDocument, render, shared_options, state_document
from factory.fleet.worker_clones import ALL_REFS, RunRefs, run_of_ref
from factory.preflight import name_what_is_set_aside
from factory.record.journal import journal_path, read_understood
from factory.record.runs_on_record import set_aside
from factory.run.execution import Assignment, OrderProgress
from factory.run.recovery import gave_up_in
from factory.run.session import Session
from shared.errors import CommandFailed, FleetUnavailable, InvalidInput
from shared.events.events import Noted, Warned
from shared.git import refs
from shared.git.client import Git
from shared.settings.settings import FleetSettings
from shared.work_order.parse_order import order_key

_KEPT_SECONDS: Final = 7 * 86_400.0


def forget_run(database: Database, queue: Queue, run: str, jobs: Sequence[str]) -> None:
    """Delete what queue and database hold of a run that is over; its replies stay on record."""
    queue.forget(jobs)
    forget_takeovers(database, jobs)
    forget_events(database, [run])
    forget_candidates(database, [run])
    forget_spending(database, [run])


def sweep_dead_runs(database: Database, queue: Queue, git: Git, remote: str) -> None:
    """Remove the refs that runs left because they were killed or the remote refused.

    The refs of other fleets stay. Raises `CommandFailed` if the remote refuses, and
    `FleetUnavailable`.
    """
    there = {run_of_ref(each) for each in refs.list_refs(git, remote, ALL_REFS)}
    for each in workers_seen(database):
        run = run_of(each.id)
        if run in there and each.dead:
            jobs = queue.all_of(run)
            queue.cancel(jobs)
            forget_run(database, queue, run, jobs)
            RunRefs(git, remote, run).sweep()
            mark_cleared(database, each.id)


def forget_old_ends(database: Database, queue: Queue) -> None:
    """Delete what has been over for a week: ends that nobody has read, and workers that ended.

    Raises `FleetUnavailable`.
    """
    ago = "SELECT now() - make_interval(secs => %s)"
    jobs = queue.over_before(database.rows(ago, (_KEPT_SECONDS,))[0][0])
    queue.forget(jobs)
    forget_takeovers(database, jobs)
    forget_events(database, jobs)
    forget_workers(database, _KEPT_SECONDS)


@dataclass(frozen=True, slots=True)
class RunTerms:
    """Say for whom the fleet takes a run's steps, and how long the run goes on.

    `submission` names the submitted plan that the run is for, if it is for one. `dropped` says that
    another process has the run. If no worker is alive, the run `waits` for one, or ends.
    """

    submission: str = ""
    dropped: threading.Event = field(default_factory=threading.Event)
    waits: bool = True


class FleetWorker:
    """Put steps into a fleet's queue, and bring back their outcomes."""

    def __init__(
        self, session: Session, settings: FleetSettings, link: Link, terms: RunTerms
    ) -> None:
        """Connect the run. Raises `FleetUnavailable`, and `InvalidInput` for an unknown remote."""
        self._session = session
        self._opened: Run = session.run
        self._run = self._opened.folder.run_id
        self._link, self._terms = link, terms
        git, tree = self._opened.repo.git, self._opened.repo.tree
        self._remote = _remote_of(self._opened, settings.remote)
        self._refs = RunRefs(git, self._remote, self._run)
        self._repo = tree.name
        self._lease = Lease(link.database, runner_of(self._run), settings.lease_seconds)
        self._asked = AskedSteps()
        self._watch = OutcomeWatch(
            link,
            self._asked,
            Outcomes(session, self._refs, link.database),
            self._lease,
            self._opened.emit,
            terms.waits,
            terms.dropped,
        )
        self._numbers = itertools.count(1)
        self._replies: set[str] = set()
        self._keys: dict[str, tuple[str, str]] = {}
        """Of each order with a step: its key, and the last run that its replies made fail."""

    def open(self) -> None:
        """Begin to look for the outcomes of jobs."""
        fleet = self._link.database.url
        name_what_is_set_aside(self._opened.repo.git, self._opened.emit)
        self._opened.emit(Noted(f"run {self._run} is made by the fleet of {fleet}"))
        self._lease.begin(slots=0, submission=self._terms.submission)
        before = [each.transcript.parent.name for each in self._session.outset.earlier]
        self._lease.replace(before, self._terms.submission)
        self._sweep_dead_runs()
        self._watch.start()

    def submit(self, assignment: Assignment) -> Future[OrderProgress]:
        """Queue a step. The future fails where the fleet cannot be reached or gives the job up."""
        if assignment.drops and assignment.parent and assignment.made:
            attempt = assignment.made.state["attempt"].number
            set_aside(assignment.task.folder, attempt, assignment.drops)
        self._refs.offer(assignment.task.base, assignment.parent)
        kind = Kind.JUDGE if assignment.parent else Kind.PROPOSE
        number = next(self._numbers)
        # The order that is judged first ends first, so that the train goes on.
        priority = number if kind is Kind.JUDGE else number + 1_000_000
        job = Job(
            f"{self._run}-{assignment.task.name}-{number}",
            kind,
            self._run,
            {"step": render(self._document(assignment))},
            priority,
            submission=self._terms.submission,
        )
        asked = self._asked.add(job.id, assignment)
        self._put(job, asked.future)
        return asked.future

    def _put(self, job: Job, future: Future[OrderProgress]) -> None:
        """Queue a job, and wait for a database that is away; the thread that looks says so."""
        while not future.done():
            try:
                return self._link.queue.put(job)
            except FleetUnavailable:
                time.sleep(LOOK_EVERY_SECONDS)
        return None

    def drop(self, assignment: Assignment) -> None:
        """Cancel a step; its future is done at once, and its worker stops."""
        assignment.drop()
        found = self._asked.take_all(assignment)
        with contextlib.suppress(FleetUnavailable):  # its outcome is ignored all the same
            self._link.queue.cancel(list(found))
        for each in found.values():
            each.settle(assignment.made or OrderProgress(first_state()))

    def cancel(self) -> None:
        """Cancel all that is queued and running."""
        found = self._asked.take_all()
        with contextlib.suppress(FleetUnavailable):
            self._link.queue.cancel(list(found))

    def close(self) -> None:
        """Cancel what is left, and remove what the run has in queue, database and remote."""
        self.cancel()
        self._watch.close()
        emit = self._opened.emit
        try:
            self._bring_transcript()
            self._record_failures()
            self._lease.leave()  # first: a worker that is still at it leaves nothing after this
            forget_run(self._link.database, self._link.queue, self._run, self._asked.over)
        except FleetUnavailable as lost:
            emit(Warned(f"jobs of run {self._run} are left in the fleet's queue: {lost.message}"))
        try:
            self._refs.sweep()
            self._sweep_dead_runs()
        except (CommandFailed, FleetUnavailable) as failed:
            emit(Warned(f"refs/llmch/ on the remote is not cleared up: {failed.message}"))

    def _sweep_dead_runs(self) -> None:
        git = self._opened.repo.git
        sweep_dead_runs(self._link.database, self._link.queue, git, self._remote)

    def _document(self, assignment: Assignment) -> StepDocument:
        return StepDocument(
            self._run,
            self._replies_of(assignment),
            self._repo,
            self._remote,
            replace(assignment.task, folder=Path(assignment.task.folder.name)),
            state_document(assignment.made.state) if assignment.made else None,
            assignment.parent,
            shared_options(self._opened.options),
            self._session.baseline.known.of(self._session.tip),
        )

    def _replies_of(self, assignment: Assignment) -> str:
        """Return the key by which a later run too finds the replies to an order on a branch.

        An order that a plan vouches for is found by the plan, any other one by its submission or
        by what it says. Where the replies to an order made it fail, later runs have other replies,
        as on one machine. The database knows of the runs that another machine coordinated.
        """
        task = assignment.task
        plan, earlier = task.loaded.plan, self._session.outset.earlier
        if task.name not in self._keys:
            work = plan.root if plan else self._terms.submission or order_key(task.order)
            key = f"{work}:{self._session.branch}"
            failed = (each.transcript.parent.name for each in earlier if task.name in each.anew)
            after = next(failed, "") or failed_run(self._link.database, key, task.name)
            self._keys[task.name] = (key, after)
        key, after = self._keys[task.name]
        key = f"{key}:{after}" if after else key
        self._replies.add(key)
        return key

    def _record_failures(self) -> None:
        """Have later runs, wherever they are coordinated, ask anew for the orders that failed."""
        gave_up = gave_up_in(read_understood(journal_path(self._opened.repo.common_dir)))
        keys = {each: self._keys[each][0] for each in gave_up if each in self._keys}
        record_failures(self._link.database, self._run, keys)

    def _bring_transcript(self) -> None:
        path = self._opened.folder.path / "transcript.jsonl"
        lines = transcript_lines(self._link.database, sorted(self._replies))
        if path.exists() and lines:
            with path.open("ab") as file:
                file.write(b"".join(lines))


@contextlib.contextmanager
def fleet_worker(
    session: Session, settings: FleetSettings, link: Link, terms: RunTerms
) -> Iterator[FleetWorker]:
    """Open a worker that is a whole fleet, and clear up after the run."""
    worker = FleetWorker(session, settings, link, terms)
    try:
        worker.open()
        yield worker
    finally:
        worker.close()


def _remote_of(run: Run, name: str) -> str:
    remote = refs.url_of(run.repo.git, name)
    if not remote:
        raise InvalidInput(
            f"the repo has no remote {name!r}, which the fleet needs",
            "add one that all workers reach, or name it in the setting `fleet.remote`",
        )
    return refs.absolute(remote, run.repo.tree)
