"""Keeps the outcomes of model calls in the fleet's database, and who is about to call."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from factory.fleet.database import Cursor, Database
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.llm.client import Request
from shared.llm.record.lines import CallFailure, Intent, Response, parse_record, render_record
from shared.llm.record.request_json import request_key
from shared.llm.record.shared_replies import Outcome

_LOOK_EVERY_SECONDS = 0.2
# A reply that was paid for is not thrown away because the database is away: the call waits for it.
_AS_LONG_AS_IT_TAKES = math.inf


class _Elsewhere:
    """Say that another living worker makes the call."""


@dataclass(frozen=True, slots=True)
class FleetReplies:
    """Share the replies of one plan. `worker` is who asks here; `secrets` are masked."""

    database: Database
    plan: str
    worker: str
    emit: Emit
    secrets: Sequence[str] = ()

    def begin(self, request: Request) -> Outcome | None:
        """See `SharedReplies.begin`; a call of a dead worker without an outcome is made again."""
        key = request_key(request)
        while True:
            found = self.database.run(
                lambda cursor: self._claim(cursor, key), patience_seconds=_AS_LONG_AS_IT_TAKES
            )
            match found:
                case str(record):
                    return _outcome_in(record)
                case _Elsewhere():
                    time.sleep(_LOOK_EVERY_SECONDS)
                case None:
                    return None
                case (str(before),):
                    self.emit(
                        Warned(
                            f"the call of {request.place} was begun by {before}, which died, but "
                            "its reply is not on record: it may have been paid for"
                        )
                    )
                    return None

    def keep(self, request: Request, outcome: Outcome) -> Outcome:
        """See `SharedReplies.keep`."""
        record = self._render(request, outcome)

        def store(cursor: Cursor) -> str:
            self._hold(cursor, outcome.key)
            cursor.execute(
                "INSERT INTO llmch.replies (plan, key, record, worker) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (plan, key) DO NOTHING",
                (self.plan, outcome.key, record, self.worker),
            )
            cursor.execute(
                "DELETE FROM llmch.intents WHERE plan = %s AND key = %s", (self.plan, outcome.key)
            )
            row = cursor.execute(
                "SELECT record FROM llmch.replies WHERE plan = %s AND key = %s",
                (self.plan, outcome.key),
            ).fetchone()
            assert row is not None, "it was stored just now, or before"
            return str(row[0])

        stays = self.database.run(store, patience_seconds=_AS_LONG_AS_IT_TAKES)
        return outcome if stays == record else _outcome_in(stays)

    def give_up(self, request: Request) -> None:
        """See `SharedReplies.give_up`."""
        self.database.run(
            lambda cursor: cursor.execute(
                "DELETE FROM llmch.intents WHERE plan = %s AND key = %s AND worker = %s",
                (self.plan, request_key(request), self.worker),
            ),
            patience_seconds=_AS_LONG_AS_IT_TAKES,
        )

    def _claim(self, cursor: Cursor, key: str) -> str | _Elsewhere | tuple[str] | None:
        """Return the record of an outcome; else whether this worker asks, and after whom."""
        self._hold(cursor, key)
        row = cursor.execute(
            "SELECT record FROM llmch.replies WHERE plan = %s AND key = %s", (self.plan, key)
        ).fetchone()
        if row:
            return str(row[0])
        row = cursor.execute(
            "SELECT i.worker, w.dead IS NOT NULL FROM llmch.intents i "
            "LEFT JOIN llmch.workers w ON w.id = i.worker WHERE i.plan = %s AND i.key = %s",
            (self.plan, key),
        ).fetchone()
        if row and row[0] != self.worker and not row[1]:
            return _Elsewhere()
        cursor.execute(
            "INSERT INTO llmch.intents (plan, key, worker) VALUES (%s, %s, %s) "
            "ON CONFLICT (plan, key) DO UPDATE SET worker = EXCLUDED.worker, begun = now()",
            (self.plan, key, self.worker),
        )
        return (str(row[0]),) if row else None

    def _hold(self, cursor: Cursor, key: str) -> None:
        """Wait until no other machine looks at this call, or stores what came of it.

        This is a statement of its own: what follows then sees all that the former holder wrote. Who
        looks sees an intent with no outcome, or the outcome, and never neither.
        """
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.plan + key,))

    def _render(self, request: Request, outcome: Outcome) -> str:
        """Return the lines that a transcript has of this call."""
        lines = (Intent(outcome.key, request), outcome)
        return b"".join(render_record(each, self.secrets) for each in lines).decode("ascii")


def transcript_lines(database: Database, plan: str) -> Sequence[bytes]:
    """Return the lines of all calls of a plan as transcripts have them, without a header."""
    return database.run(
        lambda cursor: [
            str(record).encode("ascii")
            for (record,) in cursor.execute(
                "SELECT record FROM llmch.replies WHERE plan = %s ORDER BY kept, key", (plan,)
            ).fetchall()
        ]
    )


def _outcome_in(record: str) -> Response | CallFailure:
    outcome = parse_record(record.splitlines()[-1].encode("ascii"))
    assert isinstance(outcome, Response | CallFailure), "only outcomes are kept"
    return outcome
