"""Keeps track of which workers of a fleet live, by the clock of the database.

A worker lives while it says so at least once in each lease. Who was silent for longer is declared
dead once and for all, and its id is never used again: had it only been slow, it ends itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from factory.fleet.database import Cursor, Database
from factory.fleet.jobs import PROTOCOL
from shared.errors import InvalidInput
from shared.version import VERSION

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

    def begin(self, slots: int) -> None:
        """Enter the worker. Raises `InvalidInput` where its id is or was another worker's."""

        def enter(cursor: Cursor) -> tuple[str, int] | None:
            host, pid = socket.gethostname(), os.getpid()
            cursor.execute(
                "INSERT INTO llmch.workers "
                "(id, host, pid, slots, lease_seconds, protocol, llmch_version) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
                (self.worker, host, pid, slots, self.seconds, PROTOCOL, VERSION),
            )
            row = cursor.execute(
                "SELECT host, pid FROM llmch.workers WHERE id = %s", (self.worker,)
            ).fetchone()
            assert row is not None, "it was entered just now, or before"
            return None if row == (host, pid) else (str(row[0]), int(row[1]))

        if before := self._database.run(enter):
            host, pid = before
            raise InvalidInput(
                f"a worker with the id {self.worker!r} was started before, on {host} (pid {pid})",
                "ids are never used again: leave out --id, or choose another one",
            )

    def beat(self) -> bool:
        """Say that the worker lives; return False where it was declared dead."""

        def renew(cursor: Cursor) -> bool:
            cursor.execute(
                "UPDATE llmch.workers SET seen = now() "
                "WHERE id = %s AND host = %s AND pid = %s AND dead IS NULL",
                (self.worker, socket.gethostname(), os.getpid()),
            )
            return cursor.rowcount == 1

        return self._database.run(renew)

    def leave(self) -> None:
        """Say that the worker ends by itself: what it has claimed is free at once."""
        self._database.run(
            lambda cursor: cursor.execute(
                "UPDATE llmch.workers SET dead = now(), cause = %s WHERE id = %s AND dead IS NULL",
                (LEFT, self.worker),
            )
        )


def mark_cleared(database: Database, worker: str) -> None:
    """Record that nothing is left of one that died."""
    database.run(
        lambda cursor: cursor.execute(
            "UPDATE llmch.workers SET cause = %s WHERE id = %s AND dead IS NOT NULL",
            (LEFT, worker),
        )
    )


def forget_workers(database: Database, seconds: float) -> None:
    """Delete those that left so long ago, and those that died and of which nothing is left."""
    database.run(
        lambda cursor: cursor.execute(
            "DELETE FROM llmch.workers "
            "WHERE dead < now() - make_interval(secs => %s) AND (cause = %s OR slots > 0)",
            (seconds, LEFT),
        )
    )


def runner_of(run: str) -> str:
    """Return the id by which the process of a run says that it lives. It has no slots."""
    return f"{_RUNNER}{run}"


def run_of(worker: str) -> str:
    """Return the run whose process has this id; "" for a worker."""
    return worker.removeprefix(_RUNNER) if worker.startswith(_RUNNER) else ""


def workers_seen(database: Database) -> Sequence[WorkerSeen]:
    """Return all that ever were, also processes of runs; the living first, then the latest."""

    def read(cursor: Cursor) -> Sequence[WorkerSeen]:
        rows = cursor.execute(
            "SELECT id, host, pid, slots, protocol, llmch_version, "
            "extract(epoch FROM now() - seen)::float8, "
            "now() - seen > make_interval(secs => lease_seconds), "
            "CASE WHEN dead IS NULL THEN '' ELSE cause END "
            "FROM llmch.workers ORDER BY dead IS NOT NULL, started DESC, id"
        ).fetchall()
        return [WorkerSeen(*row) for row in rows]

    return database.run(read)
