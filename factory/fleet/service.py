"""Runs one worker: claims jobs, performs them, runs submitted plans, says that it lives."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from factory.batch.batch import WorkerKind, run_all
from factory.fleet.database import Database, check_schema
from factory.fleet.fleet_worker import FleetWorker, RunTerms, fleet_worker, forget_old_ends
from factory.fleet.job_claims import JobClaimer
from factory.fleet.job_queue import Queue, import_engine
from factory.fleet.leases import Lease, Link, LiveEvents, Rescued, rescue
from factory.fleet.machine import Means
from factory.fleet.submission import PlanDocument, PlanOutcome
from factory.fleet.wire import (
    Answer,
    Job,
    JobMisread,
    JobState,
    Kind,
    Refusal,
    answer_to_json,
    pack,
    parse,
    parse_job,
    refusal_of,
    render,
    with_shared,
)
from factory.fleet.worker_clones import PLANS, free_what_was_closed, leave_out_what_stays
from factory.landing.land import Landing, LandingOnRemote
from factory.orders.order_commit import NOTES_REF
from factory.orders.task import RunOptions
from factory.run.session import Session
from shared.errors import CommandFailed, ExitCode, FleetUnavailable, LlmchError
from shared.events.events import BatchEnded, Emit, Event, Noted, Warned
from shared.files.atomic_io import make_folder, write_text
from shared.git import refs, repos
from shared.git.client import Git
from shared.settings.setting_values import DatabaseUrl
from shared.work_order.plan_folder import plan_file_names

Handler = Callable[[Job, threading.Event], Answer]
"""Performs a job. The event is set once the result is not wanted, or the worker ends."""

# How often the process looks whether it was frozen.
_WATCH_SECONDS = 0.25
# How long the jobs of a worker that ends may take to notice.
_PATIENCE_SECONDS = 10.0
_TIDY_EVERY_SECONDS = 3600.0
# It takes a tenth of a second or two, in which nothing else runs.
_FREE_EVERY_SECONDS = 60.0


class HandedOn(BaseException):
    """Say that a job ends without an outcome. The engine does not count this as an error."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Say as whom and how wide a worker works."""

    worker: str
    slots: int
    lease_seconds: float
    plans: int = 4
    """How many plans it coordinates at a time; coordinating is mostly waiting."""


@dataclass(slots=True)
class Service:
    """Hold one worker while it works."""

    url: DatabaseUrl
    terms: Terms
    handlers: Mapping[Kind, Handler]
    emit: Emit
    end_commands: Callable[[], None] = lambda: None
    """Kills the commands that this process runs."""
    complaint: Callable[[], str] = lambda: ""
    """Says why this machine can take no steps for now; "" if it can."""
    _running: dict[str, threading.Event] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ending: threading.Event = field(default_factory=threading.Event)

    def run(self, ended: threading.Event) -> None:
        """Work until `ended` is set; then hand on what is not done.

        Raises `FleetUnavailable` and `InvalidInput` before the worker has begun. A worker that was
        declared dead, or was frozen for a lease, ends its process at once.
        """
        database = Database(self.url, f"worker {self.terms.worker}")
        check_schema(database)
        lease = Lease(database, self.terms.worker, self.terms.lease_seconds)
        queue = Queue(self.url)  # first, because it takes a while to load
        lease.begin(self.terms.slots)
        for work in (self._watch, self._beat):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()
        terms = self.terms
        leave_out_what_stays()
        claimer = JobClaimer(
            self.url,
            terms.worker,
            terms.slots,
            terms.plans,
            self._perform,
            lambda text: self.emit(Warned(text)),
        )
        self.emit(Noted(f"worker {self.terms.worker} takes jobs of {self.url}"))
        try:
            self._keep_in_step(lease, database, queue, claimer, ended)
        finally:
            claimer.stop()
            self._leave(lease, database, queue)
            claimer.close()
            queue.close()
            database.close()

    def _perform(self, job_id: str, document: object) -> Mapping[str, Any]:
        dropped = threading.Event()
        with self._lock:
            if self._ending.is_set():
                dropped.set()
            self._running[job_id] = dropped
        try:
            answer = self._answer(job_id, document, dropped)
        finally:
            with self._lock:
                del self._running[job_id]
        if self._ending.is_set():
            # The job was cancelled, and is still this worker's: its answer would be stored.
            raise HandedOn
        return answer_to_json(answer)

    def _answer(self, job_id: str, document: object, dropped: threading.Event) -> Answer:
        try:
            job = parse_job(job_id, document)
            self.emit(Noted(f"{job.kind} {job.id}"))
            return self.handlers[job.kind](job, dropped)
        except JobMisread as misread:
            return Refusal(ExitCode.FLEET, f"worker {self.terms.worker}: {misread}")
        except LlmchError as error:
            said = f"worker {self.terms.worker}: {error.message}"
            return Refusal(error.exit_code, said, error.hint)
        except Exception as error:
            self.emit(Warned(f"{job_id} failed:\n{traceback.format_exc()}"))
            said = f"{type(error).__name__}: {error}"
            return Refusal(ExitCode.INTERNAL, f"worker {self.terms.worker}, {job_id}: {said}")

    def _keep_in_step(
        self,
        lease: Lease,
        database: Database,
        queue: Queue,
        claimer: JobClaimer,
        ended: threading.Event,
    ) -> None:
        steady_since: float | None = None
        reported, tidied, freed, unfit = False, -math.inf, time.monotonic(), False
        while not ended.wait(lease.seconds_between_beats):
            if time.monotonic() - freed > _FREE_EVERY_SECONDS:
                free_what_was_closed()
                freed = time.monotonic()
            unfit = self._pause_while_unfit(claimer, unfit)
            try:
                self._renew(lease)
                steady_since = steady_since or time.monotonic()
                self._drop_what_moved_on(queue)
                # After an outage of the database all seem silent: each gets a lease's time first.
                if time.monotonic() - steady_since > lease.seconds:
                    self._report(rescue(database, queue))
                if time.monotonic() - tidied > _TIDY_EVERY_SECONDS:
                    forget_old_ends(database, queue)
                    tidied = time.monotonic()
            except FleetUnavailable as lost:
                steady_since = None
                if not reported:
                    self.emit(Warned(f"{lost.message}; results are kept, and tried again"))
                reported = True
            else:
                if reported:
                    self.emit(Noted("the fleet's database is back"))
                reported = False

    def _pause_while_unfit(self, claimer: JobClaimer, before: bool) -> bool:
        """Make this worker claim nothing while its machine is unfit; return whether it is."""
        if complaint := self.complaint():
            claimer.stop()
            if not before:
                worker = self.terms.worker
                self.emit(Warned(f"worker {worker} takes no jobs for now: {complaint}"))
        elif before:
            claimer.go_on()
            self.emit(Noted(f"worker {self.terms.worker} takes jobs again"))
        return bool(complaint)

    def _drop_what_moved_on(self, queue: Queue) -> None:
        with self._lock:
            running = dict(self._running)
        standing = queue.look(list(running))
        for job, dropped in running.items():
            now = standing.get(job)
            ours = now and (now.state, now.worker) == (JobState.RUNNING, self.terms.worker)
            if not ours and (now is None or now.state is not JobState.DONE):
                dropped.set()

    def _report(self, rescued: Sequence[Rescued]) -> None:
        for each in rescued:
            what = "is given up" if each.cancelled else "goes to another worker"
            self.emit(Warned(f"{each.job} of worker {each.worker}, which died, {what}"))

    def _leave(self, lease: Lease, database: Database, queue: Queue) -> None:
        with self._lock:
            self._ending.set()
            for dropped in self._running.values():
                dropped.set()
        until = time.monotonic() + _PATIENCE_SECONDS
        while self._running and time.monotonic() < until:
            self.end_commands()
            time.sleep(_WATCH_SECONDS)
        with contextlib.suppress(FleetUnavailable):  # then others find the lease run out
            lease.leave()
            rescue(database, queue, declare=False)

    def _beat(self) -> None:
        with contextlib.closing(Database(self.url, f"lease of {self.terms.worker}")) as database:
            lease = Lease(database, self.terms.worker, self.terms.lease_seconds)
            while not self._ending.wait(lease.seconds_between_beats):
                with contextlib.suppress(FleetUnavailable):  # the main thread says so
                    self._renew(lease)

    def _renew(self, lease: Lease) -> None:
        if not lease.beat() and not self._ending.is_set():
            self._fence("it was declared dead")

    def _watch(self) -> None:
        """End this process where it was frozen for longer than its lease: others have its jobs."""
        before = time.monotonic()
        while True:
            time.sleep(_WATCH_SECONDS)
            now = time.monotonic()
            if now - before > self.terms.lease_seconds:
                self._fence(f"it stood still for {now - before:.0f} s")
            before = now

    def _fence(self, why: str) -> None:
        with contextlib.suppress(Exception):
            self.emit(Warned(f"worker {self.terms.worker} ends: {why}, and its jobs are others'"))
        with contextlib.suppress(Exception):
            self.end_commands()
        os._exit(ExitCode.FLEET)


_ORIGIN = "origin"


def clone_for(plan: PlanDocument, folder: Path) -> Path:
    """Clone what a plan needs of its remote, as a person's clone would be, and return its tree.

    That is the branch that the plan is for, the one that it began on, and the notes on commits.
    Raises `CommandFailed` if the remote does not answer, or has lost the plan's base.
    """
    tree = make_folder(folder / (Path(plan.repo).name or "repo"))
    git = Git(tree)
    repos.initialise(git)
    git.run("config", f"remote.{_ORIGIN}.url", plan.remote)
    heads = refs.branch_tips(git, plan.remote)
    wanted = [f"refs/heads/{each}" for each in (plan.base_branch, plan.branch) if each in heads]
    notes = refs.list_refs(git, plan.remote, NOTES_REF)
    specs = [f"+{each}:{each}" for each in (*wanted, *notes)]
    refs.fetch_refs(git, plan.remote, specs)
    if not refs.commit_of(git, plan.base):
        raise CommandFailed(
            f"{plan.base[:12]} is not on branch {plan.base_branch!r} of {plan.remote} any more",
            "submit the plan again: it then begins where the branch is now",
        )
    # A plan that goes on, on the very branch that it began on, begins at the branch's tip.
    goes_on = plan.branch == plan.base_branch and plan.branch in heads
    repos.begin_on(git, plan.base_branch, heads[plan.branch] if goes_on else plan.base)
    return tree


_GO_ON: Final = "the records say why; the plan submitted again goes on from there"


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Run submitted plans. `folder` is the worker's alone, for its clones."""

    means: Means
    link: Link
    folder: Path

    def take(self, job: Job, dropped: threading.Event) -> Answer:
        """Run the plan of a job to its end. Raises `LlmchError` if it cannot be begun."""
        plan = parse(PlanDocument, job.document.get("plan"))
        name = hashlib.sha256(job.id.encode()).hexdigest()[:12]
        folder = make_folder(self.folder / PLANS / name)
        try:
            with LiveEvents(
                self.link.database, job.plan, job.id, self.means.worker, self.means.secrets
            ) as events:
                return {"outcome": render(self._run(job, plan, folder, events, dropped))}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(
        self,
        job: Job,
        plan: PlanDocument,
        folder: Path,
        events: LiveEvents,
        dropped: threading.Event,
    ) -> PlanOutcome:
        workdir = _written(plan, make_folder(folder / "plan"))
        options = self._options(plan, clone_for(plan, folder / "clone"), folder / "artifacts")
        kind = self._fleet(job, plan, dropped)
        summary, error = None, None
        try:
            emit = _for_others(plan, events)
            done = run_all(workdir, options, self.means.source, emit, kind)
            summary = done.model_dump(mode="json")
        except LlmchError as failed:
            error = refusal_of(failed)
        records = make_folder(options.settings.artifacts_dir)
        return PlanOutcome(summary, error, str(records), pack(records))

    def _options(self, plan: PlanDocument, tree: Path, artifacts: Path) -> RunOptions:
        """Return this machine's options with those that the plan was submitted with."""
        options = with_shared(self.means.options, plan.options)
        settings = options.settings
        settings = replace(
            settings,
            artifacts_dir=artifacts,
            commit=replace(settings.commit, author=plan.author, subject=plan.subject),
            protected_branches=settings.protected_branches | plan.protected_branches,
        )
        return replace(
            options,
            repo=tree,
            settings=settings,
            branch=plan.branch,
            date=plan.date,
            jobs=plan.train,
            keep_going=plan.keep_going,
            allow_verify_exempt=plan.allow_verify_exempt,
            allow_changed=plan.allow_changed,
            allow_lost=plan.allow_lost,
        )

    def _fleet(self, job: Job, plan: PlanDocument, dropped: threading.Event) -> WorkerKind:
        """Return what opens the fleet for a run, and has the run land on the remote."""

        @contextlib.contextmanager
        def opened(session: Session) -> Iterator[FleetWorker]:
            assert isinstance(session.landing, Landing), "the run has just begun"
            landing = LandingOnRemote(session.landing, plan.remote, session.outset.terms.author)
            session.landing = landing
            refs.list_refs(
                landing.here.git, plan.remote, landing.here.ref
            )  # refuses a symbolic one
            settings = self.means.options.settings.fleet
            try:
                with fleet_worker(
                    session, settings, self.link, RunTerms(job.id, dropped)
                ) as worker:
                    yield worker
            finally:
                _publish_notes(landing, session)

        return WorkerKind(opened, import_engine)


def _for_others(plan: PlanDocument, emit: Emit) -> Emit:
    """Return what passes events on to those who have no access to this worker's clone."""

    def passed_on(event: Event) -> None:
        if isinstance(event, BatchEnded):
            next_step = _GO_ON if event.landed < event.orders else ""
            event = replace(event, repo="", remote=plan.remote, next_step=next_step)
        emit(event)

    return passed_on


def _publish_notes(landing: LandingOnRemote, session: Session) -> None:
    try:
        session.finish_notes()
        landing.publish_notes()
    except CommandFailed as failed:
        session.run.emit(Warned(f"notes on commits were not pushed: {failed.message}"))


def _written(plan: PlanDocument, folder: Path) -> Path:
    """Write the plan's files. Raises `JobMisread` if a name is not that of a plan's file."""
    if set(plan.files) != set(plan_file_names(plan.files)):
        raise JobMisread("the plan has files that are none of a plan")
    for name, text in plan.files.items():
        write_text(folder / name, text, sync=False)
    return folder
