"""Holds the budget of a run for all workers: what each call may take is reserved in the database.

The reservation of a worker that died counts no longer: nobody knows whether its call was made.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from factory.fleet.database import Cursor, Database
from shared.llm.client import CallPlace, Usage
from shared.llm.cost.bounds import Budget, CallBound, output_left
from shared.llm.cost.budget import SharedBudget
from shared.llm.cost.prices import Prices

_LOOK_EVERY_SECONDS: Final = 0.2


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
            found = self._database.run(
                lambda cursor: self._reserve(cursor, call, place, prices),
                patience_seconds=math.inf,
            )
            if found is not None:
                row, reserved = found
                self._rows[id(reserved)] = row
                return reserved
            time.sleep(_LOOK_EVERY_SECONDS)

    def settle(self, reserved: Usage, spent: Usage) -> None:
        """Replace the reservation of a call by its real usage."""
        row = self._rows.pop(id(reserved))
        self._database.run(
            lambda cursor: cursor.execute(
                "UPDATE llmch.spending SET usage = %s, settled = true WHERE id = %s",
                (_render(spent), row),
            ),
            patience_seconds=math.inf,
        )
        super().settle(reserved, spent)

    def _reserve(
        self, cursor: Cursor, call: CallBound, place: CallPlace, prices: Prices
    ) -> tuple[int, Usage] | None:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (self._run,))
        rows = cursor.execute(
            "SELECT s.usage, s.settled FROM llmch.spending s "
            "LEFT JOIN llmch.workers w ON w.id = s.worker "
            "WHERE s.run = %s AND (s.settled OR w.dead IS NULL)",
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
        row = cursor.execute(
            "INSERT INTO llmch.spending (run, worker, usage) VALUES (%s, %s, %s) RETURNING id",
            (self._run, self._worker, _render(reserved)),
        ).fetchone()
        assert row is not None, "an inserted row comes back"
        self._reserved = under_way + reserved  # as far as this worker knows, until it asks again
        return int(row[0]), reserved


def forget_spending(database: Database, runs: Sequence[str]) -> None:
    """Delete what runs have spent, once they are over."""
    database.run(
        lambda cursor: cursor.execute(
            "DELETE FROM llmch.spending WHERE run = ANY(%s)", (list(runs),)
        )
    )


def _total(rendered: Sequence[Any]) -> Usage:
    return sum(map(_parse, rendered), Usage())


def _render(usage: Usage) -> str:
    cost = None if usage.cost_usd is None else str(usage.cost_usd)
    return json.dumps([usage.calls, usage.input_tokens, usage.output_tokens, cost])


def _parse(text: str) -> Usage:
    calls, read, written, cost = json.loads(text)
    known = None if cost is None else Decimal(cost)
    return Usage(calls, read, output_tokens=written, cost_usd=known)
