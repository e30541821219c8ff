"""A member of a fleet against the fleet: deaths that it would take back, traces that it leaves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factory.fleet.database import Database
from factory.fleet.fleet_admin import initialise
from factory.fleet.leases import Lease
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.conftest import cluster, database, template, url  # noqa: F401

_WEEK_AGO = "now() - interval '8 days'"
_MOVES = (
    *(f"UPDATE llmch.workers SET dead = {to} WHERE id = '{{id}}'" for to in ("NULL", _WEEK_AGO)),
    "UPDATE llmch.workers SET dead = '-infinity', cause = 'left' WHERE id = '{id}'",
    "UPDATE llmch.workers SET cause = 'left' WHERE id = '{id}'",
    "UPDATE llmch.workers SET slots = 0 WHERE id = '{id}'",
    "UPDATE llmch.workers SET id = '{id}-away' WHERE id = '{id}'",
    "UPDATE llmch.workers SET id = '{id}' WHERE id = '{id}-away'",
    f"UPDATE llmch.workers SET dead = {_WEEK_AGO}",
    "DELETE FROM llmch.workers WHERE id = '{id}'",
    "DELETE FROM llmch.workers WHERE id = '{id}-away'",
    f"WITH old AS (UPDATE llmch.workers SET dead = {_WEEK_AGO} WHERE id = '{{id}}' RETURNING id) "
    "DELETE FROM llmch.workers USING old WHERE workers.id = old.id",
    "INSERT INTO llmch.workers (id, host, pid, slots, lease_seconds, protocol, llmch_version) "
    "VALUES ('{id}', 'here', 1, 1, 30, 1, '1') ON CONFLICT (id) DO UPDATE SET dead = NULL",
    "INSERT INTO llmch.workers (id, host, pid, slots, lease_seconds, protocol, llmch_version, "
    f"dead) VALUES ('{{id}}-away', 'here', 1, 1, 30, 1, '1', {_WEEK_AGO})",
    "MERGE INTO llmch.workers USING (VALUES ('{id}')) AS mine (id) ON workers.id = mine.id "
    "WHEN MATCHED THEN DELETE",
    "TRUNCATE llmch.workers",
    "ALTER TABLE llmch.workers DISABLE TRIGGER ALL",
    "DROP TRIGGER stay_dead ON llmch.workers",
    "SET session_replication_role = replica",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql "
    "AS 'SELECT ''infinity''::timestamptz'",
    "CREATE TEMP TABLE workers (id text)",
    "SET search_path = public, pg_temp, pg_catalog, llmch",
    "SET TimeZone = 'Pacific/Kiritimati'",
    "GRANT UPDATE ON llmch.workers TO CURRENT_USER",
    "RESET ALL",
)
_names = (f"worker-{number}" for number in itertools.count(1))


@pytest.fixture
def member(url: DatabaseUrl) -> Iterator[Database]:  # noqa: F811
    with closing(Database(url, "attack")) as opened:
        yield opened


def _dead_one(member: Database) -> Lease:
    """Enter a worker and declare it dead, as members do."""
    lease = Lease(member, next(_names), 30.0)
    lease.begin(slots=1)
    statement = "UPDATE llmch.workers SET dead = now(), cause = 'silent for 31 s' WHERE id = %s"
    member.run(lambda cursor: cursor.execute(statement, (lease.worker,)))
    return lease


def _attack(url: DatabaseUrl, worker: str, moves: Sequence[str]) -> None:  # noqa: F811
    """Run each statement that the database lets a member run, in one session."""
    with psycopg.connect(url.text, autocommit=True) as session:
        for move in moves:
            with suppress(psycopg.Error):
                session.execute(move.format(id=worker).encode())


def _came_back(lease: Lease) -> bool:
    """Return whether the worker lives again, if it tries all that a worker can."""
    lease.begin(slots=1)
    return lease.beat()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(moves=st.lists(st.sampled_from(_MOVES), min_size=1, max_size=8))
def test_no_sequence_of_statements_takes_back_a_death(
    member: Database,
    url: DatabaseUrl,  # noqa: F811
    moves: list[str],
) -> None:
    lease = _dead_one(member)
    record = "SELECT host, pid, slots, dead, cause FROM llmch.workers WHERE id = %s"

    def read() -> object:
        return member.run(lambda cursor: cursor.execute(record, (lease.worker,)).fetchone())

    before = read()
    _attack(url, lease.worker, moves)
    assert before is not None
    assert read() == before
    assert not _came_back(lease)


def test_a_transaction_that_was_open_for_a_week_ends_a_worker_now(member: Database) -> None:
    lease = Lease(member, next(_names), 30.0)
    lease.begin(slots=1)
    statement = f"UPDATE llmch.workers SET dead = {_WEEK_AGO} WHERE id = %s RETURNING now() - dead"
    row = member.run(lambda cursor: cursor.execute(statement, (lease.worker,)).fetchone())
    assert row is not None
    assert abs(row[0].total_seconds()) < 60


_RENAME = (_MOVES[5], "SELECT 1")
_LONG_AGO_THEN_GONE = (_MOVES[1], _MOVES[8])


@pytest.mark.parametrize("moves", [_RENAME, _LONG_AGO_THEN_GONE], ids=["renamed", "long ago"])
def test_control_without_these_rights_and_triggers_a_death_is_taken_back(
    cluster: Cluster,  # noqa: F811
    database: str,  # noqa: F811
    url: DatabaseUrl,  # noqa: F811
    member: Database,
    moves: tuple[str, ...],
) -> None:
    for each in ("stay_dead", "stay_on_record"):
        cluster.execute(f"DROP TRIGGER {each} ON llmch.workers", database)
    cluster.execute("GRANT UPDATE ON llmch.workers TO ada", database)
    lease = _dead_one(member)
    _attack(url, lease.worker, moves)
    assert _came_back(lease)


def test_an_older_fleet_has_the_rights_taken_back_by_init(
    cluster: Cluster,  # noqa: F811
    database: str,  # noqa: F811
    url: DatabaseUrl,  # noqa: F811
    member: Database,
) -> None:
    fresh = cluster.new_database()
    role = initialise(cluster.url(fresh)).roles.member
    cluster.execute(f"GRANT INSERT, UPDATE, DELETE ON llmch.workers TO {role}", fresh)
    cluster.execute("UPDATE llmch.fleet SET schema_version = 3", fresh)
    assert initialise(cluster.url(fresh)).done == ("brought the tables from schema 3 to 4",)
    rights = "SELECT has_table_privilege(%s, 'llmch.workers', 'UPDATE'), "
    rights += "has_column_privilege(%s, 'llmch.workers', 'id', 'UPDATE')"
    assert cluster.execute(rights, fresh, role, role) == [(False, False)]
