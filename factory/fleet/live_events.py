"""Passes events from where they happen to whoever watches, through the database."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from factory.fleet.database import Cursor, Database
from factory.fleet.leases import runner_of
from shared.errors import FleetUnavailable
from shared.events.event import Event, event_to_json
from shared.events.model_calls import ModelTextArrived
from shared.secrets.redaction import redact

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
        """Take an event."""
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

        def insert(cursor: Cursor) -> None:
            cursor.execute(
                "INSERT INTO llmch.events (run, job, worker, number, event) "
                "SELECT %s, %s, %s, number, event FROM unnest(%s::integer[], %s::text[]) "
                "AS given (number, event) WHERE NOT EXISTS "
                "(SELECT FROM llmch.workers WHERE id = %s AND dead IS NOT NULL) "
                "ON CONFLICT DO NOTHING",
                (self.run, self.job, self.worker, numbers, texts, runner_of(self.run)),
            )

        self.database.run(insert)
        with self._lock:
            del self._waiting[: len(waiting)]


@dataclass(frozen=True, slots=True)
class EventSeen:
    """Hold an event that came through the database; `id` rises with each."""

    id: int
    job: str
    worker: str
    document: Any


def events_after(database: Database, last: Mapping[str, int]) -> Sequence[EventSeen]:
    """Return the events of jobs after the one whose id `last` has for the job, 0 for all.

    No more than a thousand are returned at a time. The ids of a job rise as its events become
    visible; those of different jobs need not.
    """

    def read(cursor: Cursor) -> Sequence[EventSeen]:
        rows = cursor.execute(
            "SELECT e.id, e.job, e.worker, e.event FROM llmch.events e "
            "JOIN unnest(%s::text[], %s::bigint[]) AS known (job, last) "
            "ON e.job = known.job AND e.id > known.last ORDER BY e.id LIMIT %s",
            (list(last), list(last.values()), _MOST_READ),
        ).fetchall()
        return [EventSeen(number, job, by, json.loads(text)) for number, job, by, text in rows]

    return database.run(read)


def forget_events(database: Database, runs: Sequence[str]) -> None:
    """Delete the events of runs that are over: of these, and of all whose process has ended."""
    database.run(
        lambda cursor: cursor.execute(
            "DELETE FROM llmch.events WHERE run = ANY(%s) OR EXISTS (SELECT FROM llmch.workers "
            "WHERE workers.id = %s || events.run AND workers.dead IS NOT NULL)",
            (list(runs), runner_of("")),
        )
    )
