"""A member of a fleet against the fleet: deaths that it would take back, traces that it leaves."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factory.fleet.database import SCHEMA_VERSION, Database
from factory.fleet.fleet_admin import initialise, read_fleet
from factory.fleet.leases import Lease
from shared.errors import InvalidInput
from shared.settings.setting_values import DatabaseUrl
from shared.work_order.plan_folder import MANIFEST_NAME
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.conftest import cluster, database, fleet, template, url  # noqa: F401
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.small_fleet import DATE, SmallFleet, order, run_all, start_run_all
from tests.harness import git, manifest, write_plan
from tests.llmch.command_line import own_environment, run

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
    with suppress(InvalidInput):
        lease.begin(slots=1)
    return lease.beat()


@pytest.mark.rest
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
    brought = f"brought the tables from schema 3 to {SCHEMA_VERSION}"
    assert initialise(cluster.url(fresh)).done == (brought,)
    rights = "SELECT has_table_privilege(%s, 'llmch.workers', 'UPDATE'), "
    rights += "has_column_privilege(%s, 'llmch.workers', 'id', 'UPDATE')"
    assert cluster.execute(rights, fresh, role, role) == [(False, False)]


_WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys({hidden})); from llmch.cli import command; "
)
_VERBS = (
    ("fleet", "init"),
    ("fleet", "status"),
    ("fleet", "wait", "plan"),
    ("fleet", "cancel", "plan"),
    ("worker", "--sandbox", "off"),
    ("submit", "--repo", "{repo}", "--workdir", "{plan}"),
    ("run-all", "--repo", "{repo}", "--workdir", "{plan}", "--on", "fleet", "--sandbox", "off"),
)


def _without(hidden: Sequence[str], words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command where Python does not find the modules `hidden`."""
    program = f"{_WITHOUT.format(hidden=hidden)}sys.argv = ['llmch', *{words}]; sys.exit(command())"
    nowhere = {"LLMCH_FLEET_DB": "postgresql://ada@127.0.0.1:1/fleet", "OPENAI_API_KEY": "key"}
    command = [sys.executable, "-c", program]
    environment = own_environment(**nowhere)
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    return write_plan(tmp_path / "orders", manifest([order(1)]))


@pytest.mark.rest
@pytest.mark.parametrize("words", _VERBS, ids=" ".join)
def test_a_verb_of_the_fleet_without_its_packages_says_what_to_install(
    repo: Path, orders: Path, words: tuple[str, ...]
) -> None:
    elsewhere = orders.parent / "remote.git"
    git(repo, "clone", "--quiet", "--bare", str(repo), str(elsewhere))
    git(repo, "remote", "add", "origin", str(elsewhere))
    words = tuple(each.format(repo=repo, plan=orders) for each in words)
    done = _without(["psycopg", "dbos"], words)
    assert done.returncode == 2, done.stderr
    assert "pip install '.[fleet]'" in done.stderr


@pytest.mark.parametrize("hidden", ["psycopg", "dbos"])
def test_each_of_the_packages_is_missed(hidden: str) -> None:
    assert _without([hidden], ("fleet", "status")).returncode == 2


def test_control_with_its_packages_the_verb_looks_for_the_database() -> None:
    assert _without([], ("fleet", "status")).returncode == 9


def _kill_when_answered(
    cluster: Cluster,  # noqa: F811
    database: str,  # noqa: F811
    fleet: SmallFleet,  # noqa: F811
    plan: Path,
) -> None:
    """Run a plan, and kill the run once the replies to both of its orders are on record."""
    with start_run_all(fleet, plan) as killed:
        until(
            lambda: cluster.execute("SELECT count(*) FROM llmch.replies", database) == [(2,)],
            "both replies are on record",
        )
        killed.kill()
        killed.communicate()


@pytest.mark.rest
def test_orders_without_a_manifest_pay_for_no_reply_again_and_leave_no_ref(
    cluster: Cluster,  # noqa: F811
    database: str,  # noqa: F811
    fleet: SmallFleet,  # noqa: F811
) -> None:
    plan = fleet.plan(order(1), order(2))
    (plan / MANIFEST_NAME).unlink()
    fleet.start_worker("one", "--slots", "2")
    _kill_when_answered(cluster, database, fleet, plan)
    assert fleet.refs_left() != "", "control: what the killed run left is there"
    before = len(fleet.model.received)
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet")
    assert said.code == 0, said.err
    assert len(fleet.model.received) == before, said.err + fleet.said_by("one")
    assert fleet.refs_left() == ""


@pytest.mark.rest
@pytest.mark.parametrize("with_manifest", [True, False])
def test_an_order_that_failed_is_asked_for_anew(
    fleet: SmallFleet,  # noqa: F811
    *,
    with_manifest: bool,
) -> None:
    plan = fleet.plan(order(1, acceptance_commands=["test -f missing.txt"]))
    if not with_manifest:
        (plan / MANIFEST_NAME).unlink()
    fleet.start_worker("one")
    for calls in (1, 2, 3):
        said = run_all(fleet, fleet.repo, plan, "--on", "fleet", "--max-attempts", "1")
        assert said.code == 1, said.err
        assert len(fleet.model.received) == calls


@pytest.mark.rest
def test_a_plan_that_is_taken_over_leaves_no_ref(fleet: SmallFleet) -> None:  # noqa: F811
    plan = fleet.plan(*map(order, range(1, 4)))
    fleet.start_worker("killed", "--slots", "2")
    words = ("submit", "--repo", fleet.remote, "--workdir", plan, "--branch", "work", "--json")
    name = run(*words, "--reply-format", "json", cwd=fleet.person(), **DATE).document["plan"]
    until(lambda: fleet.refs_left() != "", "its refs are on the remote")
    fleet.workers["killed"].send_signal(signal.SIGKILL)
    fleet.start_worker("other", "--slots", "2")
    ended = run("fleet", "wait", name, "--json", cwd=fleet.person(), **DATE)
    assert ended.code == 0, ended.err
    assert fleet.refs_left() == ""
    until(lambda: not any(each.lives for each in read_fleet(fleet.url).runs), "no run is left")
