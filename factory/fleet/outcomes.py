"""Takes the answers of workers into a run."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.attempt.attempt_state import FactoryState, first_state
from factory.fleet.database import Database
from factory.fleet.leases import Lease, Link, WorkerSeen, died_with, events_after, workers_seen
from factory.fleet.shared_state import announced
from factory.fleet.wire import (
    PROTOCOL,
    Answer,
    JobStanding,
    JobState,
    OutcomeDocument,
    Refusal,
    error_of,
    parse,
    progress_of,
    unpack,
)
from factory.fleet.worker_clones import RunRefs, inspect_commit
from factory.orders.task import Errored, OrderResult, Passed
from factory.record.journal import Journal
from factory.record.journal_entries import FailedAttempt, StageBegun, parse_entry
from factory.run.execution import Assignment, OrderProgress
from factory.run.session import Session
from shared.errors import CommandFailed, FleetUnavailable, LlmchError
from shared.events.events import Emit, Noted, Warned
from shared.events.run_record import event_from_json


def replay(outcome: OutcomeDocument, folder: Path, journal: Journal, emit: Emit) -> None:
    """Write the step's files into the order's folder, record its entries, emit its events."""
    unpack(outcome.files, folder)
    for line in outcome.entries:
        entry = parse_entry(line.encode())
        if isinstance(entry, StageBegun | FailedAttempt):
            journal.record(entry)
    for document in outcome.events:
        if event := event_from_json(document):
            emit(event)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Take the outcomes of steps into the run: records, usage, and the commit itself."""

    session: Session
    refs: RunRefs
    database: Database

    def of(self, assignment: Assignment, answer: Answer | None, shown: int = 0) -> OrderProgress:
        """Return how far a step brought its order, and record what a local step would have.

        `shown` of the step's events were passed on before.
        Raises `CommandFailed` if the answer cannot be read, or its commit is not what the order
        makes of its tree.
        """
        if isinstance(answer, Refusal):
            error = error_of(answer)
            return OrderProgress(
                _state_before(assignment), OrderResult(Errored(error.message, error), ())
            )
        try:
            outcome = _outcome_in(answer, assignment)
            left = replace(outcome, events=outcome.events[shown:])
            replay(left, assignment.task.folder, self.session.run.journal, self.session.run.emit)
        except ValueError as misread:
            raise CommandFailed(
                f"a worker of the fleet sent an outcome that cannot be read: {misread}",
                "see that all workers run this llmch: `llmch fleet status` names their versions",
            ) from None
        self._count(assignment, outcome)
        made = progress_of(outcome)
        if made.result and isinstance(passed := made.result.verdict, Passed):
            self.refs.bring(passed.commit)
            inspect_commit(self.session.run.repo.git, assignment.task, assignment.parent, passed)
            known = made.state["attempt"].known
            self.session.baseline.known.learn(passed.commit, known)
        return made

    def of_cancelled(self, job: str, assignment: Assignment) -> OrderProgress:
        """Return what becomes of a step whose job was cancelled, but not by this run.

        Raises `CommandFailed` if a person cancelled the plan.
        """
        victims = died_with(self.database, job)
        if victims:
            cause = (
                f"{len(victims)} workers died while they had this step "
                f"({', '.join(victims)}): it is given to no other one"
            )
            return OrderProgress(_state_before(assignment), OrderResult(Errored(cause), ()))
        raise CommandFailed(
            f"run {self.session.run.folder.run_id} was cancelled by `llmch fleet cancel`",
            "the same command again goes on from there",
        )

    def _count(self, assignment: Assignment, outcome: OutcomeDocument) -> None:
        meter, used = self.session.run.model.meter, outcome.usage
        for usage, replayed in ((used.live, False), (used.replayed, True)):
            if usage.calls:
                meter.add(assignment.task.name, usage, replayed=replayed)


def _outcome_in(answer: Answer | None, assignment: Assignment) -> OutcomeDocument:
    match answer:
        case {"outcome": str(text), "folder": str(folder)} if folder:
            # Paths in the records begin with the worker's folder; this machine has another.
            here = json.dumps(str(assignment.task.folder))[1:-1]
            return parse(OutcomeDocument, text.replace(json.dumps(folder)[1:-1], here))
        case _:
            raise ValueError("it has no outcome")


def _state_before(assignment: Assignment) -> FactoryState:
    return assignment.made.state if assignment.made else first_state()


@dataclass(slots=True)
class Asked:
    """Hold a step that a worker takes, and how much of it is known."""

    assignment: Assignment
    future: Future[OrderProgress] = field(default_factory=Future)
    reported: set[str] = field(default_factory=set)
    """The commits that it announced."""
    last_event: int = 0
    shown: Counter[str] = field(default_factory=Counter)
    """How many of its events were passed on while it ran, by the worker that they came from."""

    def settle(self, made: OrderProgress) -> None:
        """Report how far the step brought its order, unless it was dropped at the same moment."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_result(made)

    def fail(self, error: BaseException) -> None:
        """Report that the step ended in an error, unless it was dropped at the same moment."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


class AskedSteps:
    """Hold the steps that the fleet has not answered yet, by their jobs.

    `over` lists the jobs that were answered, dropped or given up.
    """

    def __init__(self) -> None:
        self.over: list[str] = []
        self._steps: dict[str, Asked] = {}
        self._given_up: LlmchError | None = None
        self._lock = threading.Lock()

    def add(self, job: str, assignment: Assignment) -> Asked:
        """Add a step; it fails at once if all steps were given up."""
        asked = Asked(assignment)
        with self._lock:
            if self._given_up:
                asked.fail(self._given_up)
            else:
                self._steps[job] = asked
        return asked

    def now(self) -> Mapping[str, Asked]:
        """Return the steps at this moment."""
        with self._lock:
            return dict(self._steps)

    def take(self, job: str) -> Asked | None:
        """Remove a step and return it; `None` if it was dropped."""
        with self._lock:
            self.over.append(job)
            return self._steps.pop(job, None)

    def take_all(self, assignment: Assignment | None = None) -> Mapping[str, Asked]:
        """Remove the jobs of a step, or of all steps, and return them."""
        with self._lock:
            found = {
                job: each
                for job, each in self._steps.items()
                if assignment in (None, each.assignment)
            }
            for job in found:
                del self._steps[job]
            self.over += found
        return found

    def give_up(self, error: LlmchError) -> None:
        """Make all steps fail, including those that are not asked for yet."""
        with self._lock:
            self._given_up = self._given_up or error
        for each in self.take_all().values():
            each.fail(error)


LOOK_EVERY_SECONDS: Final = 0.2
_SHOW_EVERY_SECONDS: Final = 0.5
# How long jobs may wait before the reason is reported, and reported again.
_PATIENCE_SECONDS: Final = 10.0
_REPORT_AGAIN_SECONDS: Final = 60.0

GOES_ON: Final = "the same command again goes on from there"
_STOOD_STILL: Final = "this process stood still for longer than its lease, and the fleet gave it up"
_DROPPED: Final = "the plan was cancelled, or given to another worker"


@dataclass(slots=True)
class OutcomeWatch:
    """Bring back the outcomes of steps, and report that the run lives, until it is closed.

    An outage of the database is waited for. If no worker is alive, the run `waits` for one, or
    its steps are given up. `dropped` says that another process has the run.
    """

    link: Link
    asked: AskedSteps
    outcomes: Outcomes
    lease: Lease
    emit: Emit
    waits: bool = True
    dropped: threading.Event = field(default_factory=threading.Event)
    _closed: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _shown_at: float = 0.0
    _beaten_at: float = 0.0
    _idle_since: float | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        reported = False
        while not self._closed.wait(LOOK_EVERY_SECONDS):
            try:
                self._look()
            except FleetUnavailable as lost:
                if not reported:
                    self.emit(Warned(f"{lost.message}; the run waits for it"))
                reported = True
            except Exception as error:  # a thread that ends unseen would have the run wait for ever
                why = f"what the fleet has of this run cannot be read: {error}"
                self.asked.give_up(CommandFailed(why, GOES_ON))
                raise
            else:
                if reported:
                    self.emit(Noted("the fleet's database is back"))
                reported = False

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._beaten_at > self.lease.seconds_between_beats:
            if not self.lease.beat():
                self.asked.give_up(CommandFailed(_STOOD_STILL, GOES_ON))
            self._beaten_at = now
        if self.dropped.is_set():
            self.asked.give_up(CommandFailed(_DROPPED, GOES_ON))
        asked = self.asked.now()
        standing = self.link.queue.look(list(asked))
        self._announce(asked)
        self._show_events(asked)
        for each in standing.values():
            if each.state in (JobState.DONE, JobState.CANCELLED):
                self._conclude(each)
        self._say_why_nothing_happens(list(standing.values()))

    def _announce(self, asked: Mapping[str, Asked]) -> None:
        for job, commits in announced(self.link.database, list(asked)).items():
            for commit in commits:
                if commit not in asked[job].reported:
                    asked[job].reported.add(commit)
                    asked[job].assignment.announce(commit)

    def _show_events(self, asked: Mapping[str, Asked]) -> None:
        if time.monotonic() - self._shown_at < _SHOW_EVERY_SECONDS:
            return
        self._shown_at = time.monotonic()
        last = {job: each.last_event for job, each in asked.items()}
        for seen in events_after(self.link.database, last):
            asked[seen.job].last_event = seen.id
            asked[seen.job].shown[seen.worker] += 1
            if event := event_from_json(seen.document):
                self.emit(event)

    def _conclude(self, standing: JobStanding) -> None:
        asked = self.asked.take(standing.id)
        if asked is None:
            return  # it was dropped
        try:
            if standing.state is JobState.CANCELLED:
                made = self.outcomes.of_cancelled(standing.id, asked.assignment)
            else:
                shown = asked.shown[standing.worker]
                made = self.outcomes.of(asked.assignment, standing.answer, shown)
        except BaseException as error:
            asked.fail(error)
        else:
            asked.settle(made)

    def _say_why_nothing_happens(self, standing: Sequence[JobStanding]) -> None:
        """Warn if jobs have waited for a while and none runs."""
        now = time.monotonic()
        if {each.state for each in standing} != {JobState.WAITING}:
            self._idle_since = None
            return
        self._idle_since = self._idle_since or now
        if now - self._idle_since < _PATIENCE_SECONDS:
            return
        self._idle_since = now + _REPORT_AGAIN_SECONDS
        alive = [each for each in workers_seen(self.link.database) if each.lives and each.slots]
        if not alive and not self.waits:
            hint = f"start one by `llmch worker`; {GOES_ON}"
            self.asked.give_up(FleetUnavailable("no worker of the fleet is alive", hint))
        else:
            self.emit(Warned(_why(alive)))


def _why(alive: Sequence[WorkerSeen]) -> str:
    if not alive:
        return "no worker of the fleet is alive: the run waits for one (`llmch worker`)"
    if any(each.protocol == PROTOCOL for each in alive):
        return "all workers of the fleet are at work for other plans: the run waits"
    named = (f"{each.id} speaks {each.protocol} (llmch {each.version})" for each in alive)
    return f"no worker speaks this llmch's protocol {PROTOCOL}: {', '.join(named)}"
