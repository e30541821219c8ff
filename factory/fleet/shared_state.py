"""Holds the state that workers share: replies, candidates, budget, pace.

The reservation of a dead worker does not count: it is unknown whether its call was made.
"""

from __future__ import annotations

import contextlib
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Final

from factory.fleet.database import Cursor, Database
from factory.judging.proof import KnownCommit, KnownCommits
from shared.errors import FleetUnavailable
from shared.events.events import Emit, Warned
from shared.llm.budget import Budget, CallBound, SharedBudget, output_left
from shared.llm.model_client import CallPlace, Request, Usage
from shared.llm.replayed_replies import Outcome
from shared.llm.transcript_lines import (
    CallFailure,
    Intent,
    Response,
    parse_record,
    render_record,
    request_key,
)
from shared.llm.usage import Prices

_LOOK_EVERY_SECONDS = 0.2
# A reply that was paid for is not thrown away because the database is away: the call waits for it.
_AS_LONG_AS_IT_TAKES = math.inf


class _Elsewhere:
    """Say that another living worker makes the call."""


@dataclass(frozen=True, slots=True)
class FleetReplies:
    """Share the replies of one plan. `worker` is who asks here; `secrets` are masked.

    `plans` has the key of an order whose replies are kept under another one than `plan`.
    """

    database: Database
    plan: str
    worker: str
    emit: Emit
    secrets: Sequence[str] = ()
    plans: Mapping[str, str] = field(default_factory=dict)

    def _plan_of(self, request: Request) -> str:
        return self.plans.get(request.place.order or "", self.plan)

    def begin(self, request: Request) -> Outcome | None:
        """See `SharedReplies.begin`; a call of a dead worker without an outcome is made again."""
        key, plan = request_key(request), self._plan_of(request)
        while True:
            found = self.database.run(
                lambda cursor: self._claim(cursor, plan, key), patience_seconds=_AS_LONG_AS_IT_TAKES
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
        record, plan = self._render(request, outcome), self._plan_of(request)

        def store(cursor: Cursor) -> str:
            self._hold(cursor, plan, outcome.key)
            cursor.execute(
                "INSERT INTO llmch.replies (plan, key, record, worker) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (plan, key) DO NOTHING",
                (plan, outcome.key, record, self.worker),
            )
            cursor.execute(
                "DELETE FROM llmch.intents WHERE plan = %s AND key = %s", (plan, outcome.key)
            )
            row = cursor.execute(
                "SELECT record FROM llmch.replies WHERE plan = %s AND key = %s", (plan, outcome.key)
            ).fetchone()
            assert row is not None, "it was stored just now, or before"
            return str(row[0])

        stays = self.database.run(store, patience_seconds=_AS_LONG_AS_IT_TAKES)
        return outcome if stays == record else _outcome_in(stays)

    def give_up(self, request: Request) -> None:
        self.database.change(
            "DELETE FROM llmch.intents WHERE plan = %s AND key = %s AND worker = %s",
            (self._plan_of(request), request_key(request), self.worker),
            patience_seconds=_AS_LONG_AS_IT_TAKES,
        )

    def _claim(self, cursor: Cursor, plan: str, key: str) -> str | _Elsewhere | tuple[str] | None:
        """Return the record of an outcome; else whether this worker asks, and after whom."""
        self._hold(cursor, plan, key)
        row = cursor.execute(
            "SELECT record FROM llmch.replies WHERE plan = %s AND key = %s", (plan, key)
        ).fetchone()
        if row:
            return str(row[0])
        row = cursor.execute(
            "SELECT i.worker, w.id IS NULL OR w.dead IS NOT NULL FROM llmch.intents i "
            "LEFT JOIN llmch.workers w ON w.id = i.worker WHERE i.plan = %s AND i.key = %s",
            (plan, key),
        ).fetchone()
        if row and row[0] != self.worker and not row[1]:
            return _Elsewhere()
        cursor.execute(
            "INSERT INTO llmch.intents (plan, key, worker) VALUES (%s, %s, %s) "
            "ON CONFLICT (plan, key) DO UPDATE SET worker = EXCLUDED.worker, begun = now()",
            (plan, key, self.worker),
        )
        return (str(row[0]),) if row and row[0] != self.worker else None

    def _hold(self, cursor: Cursor, plan: str, key: str) -> None:
        """Wait until no other machine looks at this call, or stores its outcome.

        This is a statement of its own, so that the next one sees all that the former holder wrote:
        an intent with no outcome, or the outcome, and never neither.
        """
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (plan + key,))

    def _render(self, request: Request, outcome: Outcome) -> str:
        lines = (Intent(outcome.key, request), outcome)
        return b"".join(render_record(each, self.secrets) for each in lines).decode("ascii")


def transcript_lines(database: Database, plans: Sequence[str]) -> Sequence[bytes]:
    """Return the lines of all calls of plans as transcripts have them, without a header."""
    return database.run(
        lambda cursor: [
            str(record).encode("ascii")
            for (record,) in cursor.execute(
                "SELECT record FROM llmch.replies WHERE plan = ANY(%s) ORDER BY kept, key",
                (list(plans),),
            ).fetchall()
        ]
    )


def record_failures(database: Database, run: str, plans: Mapping[str, str]) -> None:
    """Record the orders that `run` made fail, each with the key that `plans` has of its replies."""
    database.run(
        lambda cursor: cursor.executemany(
            "INSERT INTO llmch.failures (plan, work_order, run) VALUES (%s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            [(plan, order, run) for order, plan in plans.items()],
        )
    )


def failed_run(database: Database, plan: str, order: str) -> str:
    """Return the last run in which the replies to an order made it fail; "" if there is none."""
    rows = database.rows(
        "SELECT run FROM llmch.failures WHERE plan = %s AND work_order = %s "
        "ORDER BY ended DESC LIMIT 1",
        (plan, order),
        patience_seconds=_AS_LONG_AS_IT_TAKES,
    )
    return str(rows[0][0]) if rows else ""


def _outcome_in(record: str) -> Response | CallFailure:
    outcome = parse_record(record.splitlines()[-1].encode("ascii"))
    assert isinstance(outcome, Response | CallFailure), "only outcomes are kept"
    return outcome


_CANDIDATES_LOOK_EVERY_SECONDS: Final = 0.2
_GIVEN_UP: Final = ""


def announce(database: Database, run: str, runner: str, job: str, commit: str) -> bool:
    """Record the commit that a job judges, before its commands run; return whether its run goes on.

    `runner` is the process of the run. A run that has ended clears up once, so nothing is recorded
    of it any more.
    """
    recorded = database.change(
        "INSERT INTO llmch.candidates (run, commit, job) SELECT %s, %s, %s WHERE NOT EXISTS "
        "(SELECT 1 FROM llmch.workers WHERE id = %s AND dead IS NOT NULL) "
        "ON CONFLICT (commit, job) DO UPDATE SET known = NULL",
        (run, commit, job, runner),
        patience_seconds=math.inf,
    )
    return recorded == 1


def announced(database: Database, jobs: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the commits that jobs have announced so far, by job."""
    found: dict[str, list[str]] = {}
    for job, commit in database.rows(
        "SELECT job, commit FROM llmch.candidates WHERE job = ANY(%s) ORDER BY announced",
        (list(jobs),),
    ):
        found.setdefault(str(job), []).append(str(commit))
    return found


def forget_candidates(database: Database, runs: Sequence[str]) -> None:
    """Delete the records of the candidates of runs."""
    database.change("DELETE FROM llmch.candidates WHERE run = ANY(%s)", (list(runs),))


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
            ((known, candidates),) = self._database.rows(
                "SELECT max(known), count(*) FROM llmch.candidates WHERE run = %s AND commit = %s",
                (self._run, commit),
                patience_seconds=math.inf,
            )
            if known:
                return self._parse(str(known))
            if known == _GIVEN_UP or not candidates:
                return super().of(commit, check_cancelled)
            check_cancelled()
            time.sleep(_CANDIDATES_LOOK_EVERY_SECONDS)

    def learn(self, commit: str, known: KnownCommit) -> None:
        """Record what is known of `commit`, for all workers."""
        super().learn(commit, known)
        self._record(commit, self._render(known))

    def give_up(self, commit: str) -> None:
        """Record that nothing will be learned of `commit`; what was learned stays."""
        super().give_up(commit)
        self._record(commit, _GIVEN_UP)

    def _record(self, commit: str, known: str) -> None:
        self._database.change(
            "UPDATE llmch.candidates SET known = %s "
            "WHERE run = %s AND commit = %s AND coalesce(known, '') = ''",
            (known, self._run, commit),
            patience_seconds=math.inf,
        )


_SPENDING_LOOK_EVERY_SECONDS: Final = 0.2


class FleetBudget(SharedBudget):
    """Hold a budget and what all workers have spent of it in one run."""

    def __init__(self, budget: Budget, database: Database, run: str, worker: str) -> None:
        super().__init__(budget)
        self._database = database
        self._run = run
        self._worker = worker
        self._rows: dict[int, int] = {}
        """The row of each reservation, by the identity of the usage that was returned for it."""

    def reserve(self, call: CallBound, place: CallPlace, prices: Prices) -> Usage:
        """See `SharedBudget.reserve`; calls of other workers count like calls of this one."""
        while True:
            # Chosen here, so that a commit whose answer is lost is no reservation of its own.
            row = secrets.randbits(62)
            found = self._database.run(
                partial(self._reserve, row=row, call=call, place=place, prices=prices),
                patience_seconds=math.inf,
            )
            if found is not None:
                row, reserved = found
                self._rows[id(reserved)] = row
                return reserved
            time.sleep(_SPENDING_LOOK_EVERY_SECONDS)

    def settle(self, reserved: Usage, spent: Usage) -> None:
        """Replace the reservation of a call by its real usage."""
        row = self._rows.pop(id(reserved))
        self._database.change(
            "UPDATE llmch.spending SET usage = %s, settled = true WHERE id = %s",
            (_render(spent), row),
            patience_seconds=math.inf,
        )
        super().settle(reserved, spent)

    def _reserve(
        self, cursor: Cursor, row: int, call: CallBound, place: CallPlace, prices: Prices
    ) -> tuple[int, Usage] | None:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (self._run,))
        cursor.execute("DELETE FROM llmch.spending WHERE id = %s AND NOT settled", (row,))
        rows = cursor.execute(
            "SELECT s.usage, s.settled FROM llmch.spending s "
            "LEFT JOIN llmch.workers w ON w.id = s.worker "
            "WHERE s.run = %s AND (s.settled OR (w.id IS NOT NULL AND w.dead IS NULL))",
            (self._run,),
        ).fetchall()
        self._spent = _total([usage for usage, settled in rows if settled])
        under_way = _total([usage for usage, settled in rows if not settled])
        committed = self._spent + under_way
        self._check_price(call, prices)
        self._check(call, place, prices)
        output = output_left(self._budget, committed, call, prices)
        if output < call.least_output:
            return None
        reserved = call.usage(output, prices)
        cursor.execute(
            "INSERT INTO llmch.spending (id, run, worker, usage) OVERRIDING SYSTEM VALUE "
            "VALUES (%s, %s, %s, %s)",
            (row, self._run, self._worker, _render(reserved)),
        )
        self._reserved = under_way + reserved  # as far as this worker knows, until it asks again
        return row, reserved


def forget_spending(database: Database, runs: Sequence[str]) -> None:
    """Delete what runs have spent, once they are over."""
    database.change("DELETE FROM llmch.spending WHERE run = ANY(%s)", (list(runs),))


def _total(rendered: Sequence[Any]) -> Usage:
    return sum(map(_parse, rendered), Usage())


def _render(usage: Usage) -> str:
    cost = None if usage.cost_usd is None else str(usage.cost_usd)
    return json.dumps([usage.calls, usage.input_tokens, usage.output_tokens, cost])


def _parse(text: str) -> Usage:
    calls, read, written, cost = json.loads(text)
    known = None if cost is None else Decimal(cost)
    return Usage(calls, read, output_tokens=written, cost_usd=known)


@dataclass(frozen=True, slots=True)
class FleetPace:
    """Keep the pace of all workers that ask the server at one URL, by the database's clock.

    While the database is away, each worker waits for itself alone.
    """

    database: Database
    server: str

    def hold(self, model: str, seconds: float) -> None:

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
        with contextlib.suppress(FleetUnavailable):
            rows = self.database.rows(
                "SELECT extract(epoch FROM until - now())::float8 FROM llmch.pauses "
                "WHERE server = %s AND model = %s",
                (self.server, model),
            )
            return max(0.0, float(rows[0][0])) if rows else 0.0
        return 0.0
