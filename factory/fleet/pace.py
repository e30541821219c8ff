"""Keeps for all workers how long a model's server wants no call."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from factory.fleet.database import Cursor, Database
from shared.errors import FleetUnavailable


@dataclass(frozen=True, slots=True)
class FleetPace:
    """Keep the pace of all workers that ask the server at one URL, by the database's clock.

    While the database is away, each worker waits for itself alone.
    """

    database: Database
    server: str

    def hold(self, model: str, seconds: float) -> None:
        """See `Pace`."""

        def write(cursor: Cursor) -> None:
            cursor.execute("DELETE FROM llmch.pauses WHERE until < now()")
            cursor.execute(
                "INSERT INTO llmch.pauses (server, model, until) "
                "VALUES (%s, %s, now() + make_interval(secs => %s)) "
                "ON CONFLICT (server, model) DO UPDATE "
                "SET until = greatest(llmch.pauses.until, EXCLUDED.until)",
                (self.server, model, seconds),
            )

        with contextlib.suppress(FleetUnavailable):
            self.database.run(write)

    def seconds_left(self, model: str) -> float:
        """See `Pace`."""

        def read(cursor: Cursor) -> float:
            row = cursor.execute(
                "SELECT extract(epoch FROM until - now())::float8 FROM llmch.pauses "
                "WHERE server = %s AND model = %s",
                (self.server, model),
            ).fetchone()
            return max(0.0, float(row[0])) if row else 0.0

        with contextlib.suppress(FleetUnavailable):
            return self.database.run(read)
        return 0.0
