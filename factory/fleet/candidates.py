"""Shares between workers which commits are being judged, and what was learned of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from factory.fleet.database import Cursor, Database
from factory.judging.known_commits import KnownCommit, KnownCommits

_LOOK_EVERY_SECONDS: Final = 0.2
_GIVEN_UP: Final = ""


def announce(database: Database, run: str, runner: str, job: str, commit: str) -> bool:
    """Record the commit that a job judges, before its commands run; return whether its run goes on.

    `runner` is the process of the run. A run that has ended clears up once, so nothing is recorded
    of it any more.
    """

    def record(cursor: Cursor) -> bool:
        cursor.execute(
            "INSERT INTO llmch.candidates (run, commit, job) SELECT %s, %s, %s WHERE NOT EXISTS "
            "(SELECT 1 FROM llmch.workers WHERE id = %s AND dead IS NOT NULL) "
            "ON CONFLICT (commit, job) DO UPDATE SET known = NULL",
            (run, commit, job, runner),
        )
        return cursor.rowcount == 1

    return database.run(record, patience_seconds=math.inf)


def announced(database: Database, jobs: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the commits that jobs have announced so far, by job."""

    def read(cursor: Cursor) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        rows = cursor.execute(
            "SELECT job, commit FROM llmch.candidates WHERE job = ANY(%s) ORDER BY announced",
            (list(jobs),),
        ).fetchall()
        for job, commit in rows:
            found.setdefault(str(job), []).append(str(commit))
        return found

    return database.run(read)


def forget_candidates(database: Database, runs: Sequence[str]) -> None:
    """Delete what is on record of the candidates of runs."""
    database.run(
        lambda cursor: cursor.execute(
            "DELETE FROM llmch.candidates WHERE run = ANY(%s)", (list(runs),)
        )
    )


class FleetKnownCommits(KnownCommits):
    """Record what is known of commits for all workers of a run.

    An order that follows another worker's candidate waits until that one was verified.
    """

    def __init__(
        self,
        database: Database,
        run: str,
        render: Callable[[KnownCommit], str],
        parse: Callable[[str], KnownCommit],
    ) -> None:
        super().__init__()
        self._database = database
        self._run = run
        self._render = render
        self._parse = parse

    def of(self, commit: str, check_cancelled: Callable[[], None] = lambda: None) -> KnownCommit:
        """Return what is known of `commit`, of which another worker may know more than this one."""
        while True:
            found = self._database.run(
                lambda cursor: cursor.execute(
                    "SELECT max(known), count(*) FROM llmch.candidates "
                    "WHERE run = %s AND commit = %s",
                    (self._run, commit),
                ).fetchone(),
                patience_seconds=math.inf,
            )
            known, candidates = found or (None, 0)
            if known:
                return self._parse(str(known))
            if known == _GIVEN_UP or not candidates:
                return super().of(commit, check_cancelled)
            check_cancelled()
            time.sleep(_LOOK_EVERY_SECONDS)

    def learn(self, commit: str, known: KnownCommit) -> None:
        """Record what is known of `commit`, for all workers."""
        super().learn(commit, known)
        self._record(commit, self._render(known))

    def give_up(self, commit: str) -> None:
        """Record that nothing will be learned of `commit`; what was learned stays."""
        super().give_up(commit)
        self._record(commit, _GIVEN_UP)

    def _record(self, commit: str, known: str) -> None:
        self._database.run(
            lambda cursor: cursor.execute(
                "UPDATE llmch.candidates SET known = %s "
                "WHERE run = %s AND commit = %s AND coalesce(known, '') = ''",
                (known, self._run, commit),
            ),
            patience_seconds=math.inf,
        )
