"""Manages the leases of workers, the rescue of their jobs, and the events that are passed on.

A worker lives while it reports at least once in each lease. A worker that was silent for longer is
declared dead for good, and its id is never used again. If it was only slow, it ends itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from factory.fleet.database import Cursor, Database, check_schema
from factory.fleet.job_queue import Queue
from factory.fleet.wire import PROTOCOL, JobStanding, JobState
from shared import VERSION
from shared.errors import FleetUnavailable, InvalidInput
from shared.events.events import Event, ModelTextArrived, event_to_json
from shared.files.secret_values import redact
from shared.settings.setting_values import DatabaseUrl

# An entry says that it lives so many times in each lease, but no less often than this.
_BEATS_IN_A_LEASE = 6
_MOST_SECONDS_BETWEEN_BEATS = 2.0
_RUNNER = "run-"

LEFT = "left"
"""The cause of a worker that ended by itself and handed its jobs on."""


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """Describe a worker, or the process of a run, which has no slots.

    `seen_seconds` have passed since its last sign. `dead` is the cause, if it was declared dead or
    has left; else "".
    """

    id: str
    host: str
    pid: int
    slots: int
    protocol: int
    version: str
    seen_seconds: float
    late: bool
    dead: str

    @property
    def state(self) -> str:
        """Return in one word how the worker is: alive, late, left or dead."""
        if self.dead:
            return "left" if self.dead == LEFT else "dead"
        return "late" if self.late else "alive"

    @property
    def lives(self) -> bool:
        """Return whether the worker takes jobs, as far as is known."""
        return not self.dead and not self.late


class Lease:
    """Hold one worker's entry. The worker calls `beat` several times in each lease."""

    def __init__(self, database: Database, worker: str, lease_seconds: float) -> None:
        self.worker = worker
        self.seconds = lease_seconds
        self.seconds_between_beats = min(
            lease_seconds / _BEATS_IN_A_LEASE, _MOST_SECONDS_BETWEEN_BEATS
        )
        self._database = database

    def begin(self, slots: int, submission: str = "") -> None:
        """Enter the worker, or the process that runs a plan, which may be a `submission`.

        Raises `InvalidInput` if its id is or was another worker's.
        """

        def enter(cursor: Cursor) -> tuple[str, int] | None:
            host, pid = socket.gethostname(), os.getpid()  # both may be those of a former container
            cursor.execute(
                "INSERT INTO llmch.workers "
                "(id, host, pid, slots, lease_seconds, protocol, llmch_version, submission) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
                (self.worker, host, pid, slots, self.seconds, PROTOCOL, VERSION, submission),
            )
            row = cursor.execute(
                "SELECT host, pid, dead IS NULL FROM llmch.workers WHERE id = %s", (self.worker,)
            ).fetchone()
            assert row is not None, "it was entered just now, or before"
            return None if row == (host, pid, True) else (str(row[0]), int(row[1]))

        if before := self._database.run(enter):
            host, pid = before
            raise InvalidInput(
                f"a worker with the id {self.worker!r} was started before, on {host} (pid {pid})",
                "ids are never used again: leave out --id, or choose another one",
            )

    def beat(self) -> bool:
        """Report that the worker lives; return False if it was declared dead."""
        renewed = self._database.change(
            "UPDATE llmch.workers SET seen = now() "
            "WHERE id = %s AND host = %s AND pid = %s AND dead IS NULL",
            (self.worker, socket.gethostname(), os.getpid()),
        )
        return renewed == 1

    def replace(self, runs: Sequence[str], submission: str) -> None:
        """Declare dead whoever ran the same work before: these runs, and those of `submission`."""
        self._database.change(
            "UPDATE llmch.workers SET dead = now(), cause = 'another process has its work' "
            "WHERE dead IS NULL AND slots = 0 AND id <> %s "
            "AND (id = ANY(%s) OR (submission = %s AND submission <> ''))",
            (self.worker, [runner_of(each) for each in runs], submission),
        )

    def leave(self) -> None:
        """Report that the worker ends by itself: the jobs that it claimed are free at once."""
        self._database.change(
            "UPDATE llmch.workers SET dead = now(), cause = %s WHERE id = %s AND dead IS NULL",
            (LEFT, self.worker),
        )


def mark_cleared(database: Database, worker: str) -> None:
    """Record that nothing is left of one that died."""
    database.change(
        "UPDATE llmch.workers SET cause = %s WHERE id = %s AND dead IS NOT NULL", (LEFT, worker)
    )


def forget_workers(database: Database, seconds: float) -> None:
    """Delete those that left so long ago, and those that died and of which nothing is left."""
    database.change(
        "DELETE FROM llmch.workers "
        "WHERE dead < now() - make_interval(secs => %s) AND (cause = %s OR slots > 0)",
        (seconds, LEFT),
    )


def runner_of(run: str) -> str:
    """Return the id by which the process of a run says that it lives. It has no slots."""
    return f"{_RUNNER}{run}"


def run_of(worker: str) -> str:
    """Return the run whose process has this id; "" for a worker."""
    return worker.removeprefix(_RUNNER) if worker.startswith(_RUNNER) else ""


def workers_seen(database: Database) -> Sequence[WorkerSeen]:
    """Return all that ever were, also processes of runs; the living first, then the latest."""
    rows = database.rows(
        "SELECT id, host, pid, slots, protocol, llmch_version, "
        "extract(epoch FROM now() - seen)::float8, "
        "now() - seen > make_interval(secs => lease_seconds), "
        "CASE WHEN dead IS NULL THEN '' ELSE cause END "
        "FROM llmch.workers ORDER BY dead IS NOT NULL, started DESC, id"
    )
    return [WorkerSeen(*row) for row in rows]


# A job that brought down so many workers is not given to another one.
MAX_TAKEOVERS = 5

_LOCK = 0x6C6C6D63685F72  # any number that only this file uses


@dataclass(frozen=True, slots=True)
class Rescued:
    """Hold what became of a dead worker's job: taken over, or cancelled as poison."""

    job: str
    worker: str
    cancelled: bool


def rescue(database: Database, queue: Queue, *, declare: bool = True) -> Sequence[Rescued]:
    """Give back the jobs of dead workers; with `declare`, declare silent ones dead first.

    If another rescuer is at work, nothing is done and the result is empty. A rescuer that dies on
    the way leaves the rest to the next one. Raises `FleetUnavailable`.
    """
    return database.run(lambda cursor: tuple(_rescue(cursor, queue, declare)))


def _rescue(cursor: Cursor, queue: Queue, declare: bool) -> Iterator[Rescued]:
    row = cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", (_LOCK,)).fetchone()
    if not row or not row[0]:
        return
    if declare:
        cursor.execute(
            "UPDATE llmch.workers SET dead = now(), "
            "cause = 'silent for ' || round(extract(epoch FROM now() - seen)) || ' s' "
            "WHERE dead IS NULL AND now() - seen > make_interval(secs => lease_seconds)"
        )
    jobs = queue.unfinished()
    named = {each.worker for each in jobs} | {runner_of(each.plan) for each in jobs}
    dead: dict[str, str] = dict(
        cursor.execute(
            "SELECT id, cause FROM llmch.workers WHERE dead IS NOT NULL AND id = ANY(%s)",
            (sorted(named),),
        ).fetchall()
    )
    # Nobody takes the outcomes of a run whose process died; the next run begins anew.
    lost = [each.id for each in jobs if runner_of(each.plan) in dead]
    queue.cancel(lost)
    queue.forget(lost)
    cursor.execute("DELETE FROM llmch.takeovers WHERE job = ANY(%s)", (lost,))
    for job in jobs:
        if job.state is not JobState.RUNNING or job.worker not in dead or job.id in lost:
            continue
        if dead[job.worker] != LEFT and _takeovers(cursor, job) >= MAX_TAKEOVERS:
            queue.cancel([job.id])
            yield Rescued(job.id, job.worker, cancelled=True)
        else:
            queue.hand_on(job)
            yield Rescued(job.id, job.worker, cancelled=False)


def _takeovers(cursor: Cursor, job: JobStanding) -> int:
    cursor.execute(
        "INSERT INTO llmch.takeovers (job, worker) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (job.id, job.worker),
    )
    row = cursor.execute(
        "SELECT count(*) FROM llmch.takeovers WHERE job = %s", (job.id,)
    ).fetchone()
    return int(row[0]) if row else 0


def died_with(database: Database, job: str) -> Sequence[str]:
    """Return the workers that died while they had this job, the first one first."""
    rows = database.rows(
        "SELECT worker FROM llmch.takeovers WHERE job = %s ORDER BY taken, worker", (job,)
    )
    return [str(worker) for (worker,) in rows]


def forget_takeovers(database: Database, jobs: Sequence[str]) -> None:
    """Delete what is on record about the takeovers of jobs that are over."""
    database.change("DELETE FROM llmch.takeovers WHERE job = ANY(%s)", (list(jobs),))


@dataclass(frozen=True, slots=True)
class Link:
    """Hold a fleet's tables and its queue. Threads may share them."""

    database: Database
    queue: Queue


@contextlib.contextmanager
def linked(url: DatabaseUrl, purpose: str) -> Iterator[Link]:
    """Connect to a fleet while the block runs; `purpose` names this process to administrators.

    Raises `FleetUnavailable` if that fails, or if the fleet belongs to another version of llmch.
    """
    with contextlib.closing(Database(url, purpose)) as database:
        check_schema(database)
        with contextlib.closing(Queue(url)) as queue:
            yield Link(database, queue)


_PASS_ON_EVERY_SECONDS: Final = 0.3
_MOST_READ: Final = 1000


@dataclass(slots=True)
class LiveEvents:
    """Pass on the events of one job of a run while it is done; secrets are masked.

    Events wait while the database is away, and are dropped once the run is over. The pieces of a
    streamed reply are left out.
    """

    database: Database
    run: str
    job: str
    worker: str
    secrets: Sequence[str] = ()
    _waiting: list[tuple[int, str]] = field(default_factory=list)
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> LiveEvents:
        self._thread = threading.Thread(target=self._run, name=f"events {self.job}", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()
        with contextlib.suppress(FleetUnavailable):
            self._pass_on()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ModelTextArrived):
            return
        text = redact(json.dumps(event_to_json(event)), self.secrets)
        with self._lock:
            self._waiting.append((self._count, text))
            self._count += 1

    def _run(self) -> None:
        while not self._over.wait(_PASS_ON_EVERY_SECONDS):
            with contextlib.suppress(FleetUnavailable):
                self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            waiting = tuple(self._waiting)
        if not waiting:
            return
        numbers, texts = [number for number, _ in waiting], [text for _, text in waiting]
        self.database.change(
            "INSERT INTO llmch.events (run, job, worker, number, event) "
            "SELECT %s, %s, %s, number, event FROM unnest(%s::integer[], %s::text[]) "
            "AS given (number, event) WHERE NOT EXISTS "
            "(SELECT FROM llmch.workers WHERE id = %s AND dead IS NOT NULL) "
            "ON CONFLICT DO NOTHING",
            (self.run, self.job, self.worker, numbers, texts, runner_of(self.run)),
        )
        with self._lock:
            del self._waiting[: len(waiting)]


@dataclass(frozen=True, slots=True)
class EventSeen:
    """Hold an event that came through the database; `id` rises with each."""

    id: int
    job: str
    worker: str
    document: Mapping[str, Any]


def events_after(database: Database, last: Mapping[str, int]) -> Sequence[EventSeen]:
    """Return the events of jobs after the one whose id `last` has for the job, 0 for all.

    No more than a thousand are returned at a time. The ids of a job rise as its events become
    visible; those of different jobs need not.
    """
    rows = database.rows(
        "SELECT e.id, e.job, e.worker, e.event FROM llmch.events e "
        "JOIN unnest(%s::text[], %s::bigint[]) AS known (job, last) "
        "ON e.job = known.job AND e.id > known.last ORDER BY e.id LIMIT %s",
        (list(last), list(last.values()), _MOST_READ),
    )
    return [EventSeen(number, job, by, _document(text)) for number, job, by, text in rows]


def _document(text: str) -> Mapping[str, Any]:
    """Return the document of an event; an empty one, which is no event, where it is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def forget_events(database: Database, runs: Sequence[str]) -> None:
    """Delete the events of runs that are over: of these, and of all whose process has ended."""
    database.change(
        "DELETE FROM llmch.events WHERE run = ANY(%s) OR EXISTS (SELECT FROM llmch.workers "
        "WHERE workers.id = %s || events.run AND workers.dead IS NOT NULL)",
        (list(runs), runner_of("")),
    )
