"""The budget of a run, which all workers spend together."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from factory.fleet.database import Database
from factory.fleet.leases import Lease
from factory.fleet.shared_state import FleetBudget, forget_spending
from shared.errors import BudgetReached
from shared.llm.budget import Budget, CallBound, total_tokens
from shared.llm.model_client import CallPlace, Role, Usage
from shared.llm.usage import KNOWN_PRICES
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import Cluster

PLACE = CallPlace(Role.FACTORY, 1, "WO-01")
CALL = CallBound("gpt-5.2", 100, 400, 400)


def budget(database: Database, worker: str, tokens: int, run: str = "run") -> FleetBudget:
    return FleetBudget(Budget(tokens), database, run, worker)


def test_what_one_worker_spent_another_has_no_more(url: DatabaseUrl) -> None:
    with closing(Database(url, "test")) as database:
        for worker in ("one", "two"):
            Lease(database, worker, 600).begin(1)
        one, two = (budget(database, each, 900) for each in ("one", "two"))
        reserved = one.reserve(CALL, PLACE, KNOWN_PRICES)
        assert one.committed == reserved
        one.settle(reserved, Usage(1, 100, output_tokens=350))
        assert total_tokens(one.committed) == 450
        with pytest.raises(BudgetReached, match="450 are spent"):
            two.reserve(CALL, PLACE, KNOWN_PRICES)
        other = budget(database, "two", 900, "other run").reserve(CALL, PLACE, KNOWN_PRICES)
        assert other.output_tokens == 400
        forget_spending(database, ["run"])
        assert two.reserve(CALL, PLACE, KNOWN_PRICES).output_tokens == 400


def test_a_call_waits_for_one_of_another_worker_that_may_leave_enough(url: DatabaseUrl) -> None:
    with closing(Database(url, "one")) as first, closing(Database(url, "two")) as second:
        Lease(first, "one", 600).begin(1)
        Lease(second, "two", 600).begin(1)
        one, two = budget(first, "one", 900), budget(second, "two", 900)
        reserved = one.reserve(CALL, PLACE, KNOWN_PRICES)
        found: list[Usage] = []
        waiting = threading.Thread(
            target=lambda: found.append(two.reserve(CALL, PLACE, KNOWN_PRICES))
        )
        waiting.start()
        one.settle(reserved, Usage(1, 100, output_tokens=50))
        waiting.join(60)
        assert [each.output_tokens for each in found] == [400]


def test_what_a_dead_worker_had_reserved_is_free_again(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    with closing(Database(url, "test")) as opened:
        for worker in ("dead", "two"):
            Lease(opened, worker, 600).begin(1)
        budget(opened, "dead", 900).reserve(CALL, PLACE, KNOWN_PRICES)
        cluster.execute("UPDATE llmch.workers SET dead = now() WHERE id = 'dead'", database)
        reserved = budget(opened, "two", 900).reserve(CALL, PLACE, KNOWN_PRICES)
        assert reserved.output_tokens == 400


def test_a_reservation_whose_answer_was_lost_is_made_once(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    """The connection may break after the commit; then the same work is done again."""
    with closing(Database(url, "test")) as member:
        Lease(member, "one", 600).begin(1)
        own = budget(member, "one", 900)
        for _ in range(2):
            made = member.run(lambda cursor: own._reserve(cursor, 7, CALL, PLACE, KNOWN_PRICES))
            assert made is not None and made[1].output_tokens == 400
    assert cluster.execute("SELECT id FROM llmch.spending", database) == [(7,)]
