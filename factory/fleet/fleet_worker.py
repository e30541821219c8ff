"""Has the workers of a fleet take the steps of a run, behind the protocol of any worker."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.attempt.state import first_state
from factory.fleet.candidates import announced
from factory.fleet.clearing import forget_run, sweep_dead_runs
from factory.fleet.jobs import PROTOCOL, Job, JobState, Kind, Standing
from factory.fleet.leases import (
    Lease,
    WorkerSeen,
    runner_of,
    workers_seen,
)
from factory.fleet.link import Link
from factory.fleet.live_events import events_after
from factory.fleet.outcomes import Outcomes
from factory.fleet.refs import RunRefs
from factory.fleet.replies import transcript_lines
from factory.fleet.shared_options import shared_options
from factory.fleet.wire import (
    StepDocument,
    render,
    state_document,
)
from factory.record.dropped_judgements import set_aside
from factory.run.parts import RunParts
from factory.run.session import Session
from factory.run.steps import Making, Step
from shared.errors import CommandFailed, FleetUnavailable, InvalidInput, LlmchError
from shared.events.from_json import event_from_json
from shared.events.messages import Noted, Warned
from shared.git import remote_refs
from shared.settings.fleet import FleetSettings

_LOOK_EVERY_SECONDS: Final = 0.2
_SHOW_EVERY_SECONDS: Final = 0.5
# How long jobs may wait before the person is told that nobody takes them.
_PATIENCE_SECONDS: Final = 10.0

_STOOD_STILL: Final = "this process stood still for longer than its lease, and the fleet gave it up"
_GOES_ON: Final = "the same command again goes on from there"
_DROPPED: Final = "the plan was cancelled, or given to another worker"


@dataclass(slots=True)
class _Asked:
    """Hold a step that a worker takes, and how much of it is known."""

    step: Step
    future: Future[Making]
    told: set[str] = field(default_factory=set)
    last_event: int = 0
    shown: Counter[str] = field(default_factory=Counter)
    """How many of its events were passed on while it ran, by the worker that they came from."""


class FleetWorker:
    """Put steps into a fleet's queue, and bring back what came of them."""

    def __init__(
        self,
        session: Session,
        settings: FleetSettings,
        link: Link,
        submission: str = "",
        *,
        waits: bool = True,
    ) -> None:
        """Take the steps of `session`'s run, for a submitted plan if one is named.

        Where no worker is alive, the run `waits` for one, or ends with `FleetUnavailable`.
        Raises `FleetUnavailable`, and `InvalidInput` where the repo has no such remote.
        """
        self._session = session
        self._parts: RunParts = session.parts
        self._run = self._parts.folder.run_id
        self._submission = submission
        self._waits = waits
        self._database, self._queue = link.database, link.queue
        remote = remote_refs.url_of(self._parts.repo.git, settings.remote)
        if not remote:
            raise InvalidInput(
                f"the repo has no remote {settings.remote!r}, which the fleet needs",
                "add one that all workers reach, or name it in the setting `fleet.remote`",
            )
        self._remote = remote_refs.absolute(remote, self._parts.repo.tree)
        self._refs = RunRefs(self._parts.repo.git, self._remote, self._run)
        self._outcomes = Outcomes(session, self._refs, self._database)
        self._lease = Lease(self._database, runner_of(self._run), settings.lease_seconds)
        self._numbers = itertools.count(1)
        self._asked: dict[str, _Asked] = {}
        self._done: list[str] = []
        self._replies = ""
        self._lock = threading.Lock()
        self._events_shown = 0.0
        self._closed = threading.Event()
        self._dropped = threading.Event()
        self._given_up: LlmchError | None = None
        self._looking = threading.Thread(target=self._look, name="fleet", daemon=True)

    def open(self) -> None:
        """Begin to look what came of jobs."""
        self._parts.emit(Noted(f"run {self._run} is made by the fleet of {self._database.url}"))
        self._lease.begin(slots=0)
        sweep_dead_runs(self._database, self._queue, self._parts.repo.git, self._remote)
        self._looking.start()

    def end_when(self, dropped: threading.Event) -> None:
        """Give all steps up as soon as `dropped` is set, because another process has the run."""
        self._dropped = dropped

    def submit(self, step: Step) -> Future[Making]:
        """Queue a step. The future fails where the fleet cannot be reached or gives the job up."""
        if step.drops and step.parent and step.making:
            attempt = step.making.state["attempt"].number
            set_aside(step.task.folder, attempt, step.drops)
        self._refs.offer(step.task.base, step.parent)
        kind = Kind.JUDGE if step.parent else Kind.PROPOSE
        number = next(self._numbers)
        job = f"{self._run}-{step.task.name}-{number}"
        asked = _Asked(step, Future())
        with self._lock:
            if self._given_up:
                asked.future.set_exception(self._given_up)
                return asked.future
            self._asked[job] = asked
        # What is judged first ends first, so that the train goes on.
        priority = number if kind is Kind.JUDGE else number + 1_000_000
        document = {"step": render(self._document(step))}
        self._put(Job(job, kind, self._run, document, priority, submission=self._submission))
        return asked.future

    def _put(self, job: Job) -> None:
        """Queue a job, and wait for a database that is away; the thread that looks says so."""
        while True:
            try:
                return self._queue.put(job)
            except FleetUnavailable:
                time.sleep(_LOOK_EVERY_SECONDS)

    def drop(self, step: Step) -> None:
        """Cancel a step; its future is done at once, and its worker is told."""
        step.drop()
        with self._lock:
            jobs = [job for job, asked in self._asked.items() if asked.step is step]
            found = [self._asked.pop(each) for each in jobs]
            self._done += jobs
        with contextlib.suppress(FleetUnavailable):  # its outcome is ignored all the same
            self._queue.cancel(jobs)
        for each in found:
            _settle(each.future, step.making or Making(first_state()))

    def cancel(self) -> None:
        """Cancel all that is queued and running."""
        with self._lock:
            jobs = list(self._asked)
            self._asked.clear()
            self._done += jobs
        with contextlib.suppress(FleetUnavailable):
            self._queue.cancel(jobs)

    def close(self) -> None:
        """Cancel what is left, and remove what the run has in queue, database and remote."""
        self.cancel()
        self._closed.set()
        if self._looking.is_alive():
            self._looking.join()
        emit = self._parts.emit
        try:
            self._bring_transcript()
            forget_run(self._database, self._queue, self._run, self._done)
            self._lease.leave()
        except FleetUnavailable as lost:
            emit(Warned(f"jobs of run {self._run} are left in the fleet's queue: {lost.message}"))
        try:
            self._refs.sweep()
            sweep_dead_runs(self._database, self._queue, self._parts.repo.git, self._remote)
        except (CommandFailed, FleetUnavailable) as failed:
            emit(Warned(f"refs/llmch/ on the remote is not cleared up: {failed.message}"))

    def _document(self, step: Step) -> StepDocument:
        return StepDocument(
            self._run,
            self._replies_of(step),
            self._parts.repo.tree.name,
            self._remote,
            replace(step.task, folder=Path(step.task.folder.name)),
            state_document(step.making.state) if step.making else None,
            step.parent,
            shared_options(self._parts.options),
            self._session.baseline.known.of(self._session.tip),
        )

    def _replies_of(self, step: Step) -> str:
        """Return what the replies of a plan on a branch are found by, also by a later run."""
        plan = step.task.loaded.plan
        self._replies = f"{plan.root if plan else self._run}:{self._session.branch}"
        return self._replies

    def _look(self) -> None:
        """Bring back what came of jobs, until the run is over; an outage is waited for."""
        waiting_since: float | None = None
        told, beaten = False, 0.0
        while not self._closed.wait(_LOOK_EVERY_SECONDS):
            try:
                if time.monotonic() - beaten > self._lease.seconds_between_beats:
                    if not self._lease.beat():
                        self._give_up(CommandFailed(_STOOD_STILL, _GOES_ON))
                    beaten = time.monotonic()
                if self._dropped.is_set():
                    self._give_up(CommandFailed(_DROPPED, _GOES_ON))
                idle = self._look_once()
                waiting_since = (waiting_since or time.monotonic()) if idle else None
                if waiting_since and time.monotonic() - waiting_since > _PATIENCE_SECONDS:
                    self._say_why_nothing_happens()
                    waiting_since = time.monotonic() + 60
            except FleetUnavailable as lost:
                if not told:
                    self._parts.emit(Warned(f"{lost.message}; the run waits for it"))
                told = True
            else:
                if told:
                    self._parts.emit(Noted("the fleet's database is back"))
                told = False

    def _give_up(self, error: LlmchError) -> None:
        """Have all steps fail, those that are still to be queued too."""
        with self._lock:
            self._given_up = error
            asked, self._asked = self._asked, {}
            self._done += asked
        for each in asked.values():
            with contextlib.suppress(InvalidStateError):
                each.future.set_exception(error)

    def _look_once(self) -> bool:
        """Return whether jobs wait and none runs."""
        with self._lock:
            asked = dict(self._asked)
        standing = self._queue.look(list(asked))
        for job, commits in announced(self._database, list(asked)).items():
            for commit in commits:
                if commit not in asked[job].told:
                    asked[job].told.add(commit)
                    asked[job].step.announce(commit)
        self._show_events(asked)
        for job, each in standing.items():
            if each.state in (JobState.DONE, JobState.CANCELLED):
                self._conclude(job, each)
        states = {each.state for each in standing.values()}
        return bool(states) and states == {JobState.WAITING}

    def _show_events(self, asked: Mapping[str, _Asked]) -> None:
        """Pass on what happened since, while the steps are taken."""
        if time.monotonic() - self._events_shown < _SHOW_EVERY_SECONDS:
            return
        self._events_shown = time.monotonic()
        last = {job: each.last_event for job, each in asked.items()}
        for seen in events_after(self._database, last):
            asked[seen.job].last_event = seen.id
            asked[seen.job].shown[seen.worker] += 1
            if event := event_from_json(seen.document):
                self._parts.emit(event)

    def _conclude(self, job: str, standing: Standing) -> None:
        with self._lock:
            asked = self._asked.pop(job, None)
            self._done.append(job)
        if asked is None:
            return  # it was dropped
        try:
            if standing.state is JobState.CANCELLED:
                making = self._outcomes.of_cancelled(job, asked.step)
            else:
                shown = asked.shown[standing.worker]
                making = self._outcomes.of(asked.step, standing.answer, shown)
        except BaseException as error:
            with contextlib.suppress(InvalidStateError):
                asked.future.set_exception(error)
        else:
            _settle(asked.future, making)

    def _say_why_nothing_happens(self) -> None:
        alive = [each for each in workers_seen(self._database) if each.lives and each.slots]
        able = [each for each in alive if each.protocol == PROTOCOL]
        if not alive and not self._waits:
            error = FleetUnavailable(
                "no worker of the fleet is alive", f"start one by `llmch worker`; {_GOES_ON}"
            )
            self._give_up(error)
            return
        if not alive:
            text = "no worker of the fleet is alive: the run waits for one (`llmch worker`)"
        elif not able:
            text = f"no worker speaks this llmch's protocol {PROTOCOL}: {_named(alive)}"
        else:
            text = "all workers of the fleet are at work for other plans: the run waits"
        self._parts.emit(Warned(text))

    def _bring_transcript(self) -> None:
        """Append the calls that workers made to the run's own transcript."""
        path = self._parts.folder.path / "transcript.jsonl"
        lines = transcript_lines(self._database, self._replies)
        if path.exists() and lines:
            with path.open("ab") as file:
                file.write(b"".join(lines))


@contextlib.contextmanager
def fleet_worker(
    session: Session,
    settings: FleetSettings,
    link: Link,
    submission: str = "",
    *,
    waits: bool = True,
) -> Iterator[FleetWorker]:
    """Open a worker that is a whole fleet, as `FleetWorker` says; clear up after the run."""
    worker = FleetWorker(session, settings, link, submission, waits=waits)
    try:
        worker.open()
        yield worker
    finally:
        worker.close()


def _settle(future: Future[Making], making: Making) -> None:
    with contextlib.suppress(InvalidStateError):  # it was dropped at the same moment
        future.set_result(making)


def _named(workers: list[WorkerSeen]) -> str:
    return ", ".join(f"{each.id} speaks {each.protocol} (llmch {each.version})" for each in workers)
