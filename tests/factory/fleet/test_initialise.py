"""`fleet init`: what it makes, who may use it, and the databases that it leaves alone."""

from __future__ import annotations

from contextlib import closing

import pytest

from factory.fleet.database import SCHEMA_VERSION, Database, check_schema
from factory.fleet.fleet_admin import initialise
from factory.fleet.leases import Lease, events_after
from shared.errors import ExitCode, FleetUnavailable, InvalidInput
from shared.events.run_record import event_from_json
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import Cluster


def check(url: DatabaseUrl) -> None:
    with closing(Database(url, "test")) as database:
        check_schema(database)


def refusal(url: DatabaseUrl) -> FleetUnavailable:
    with pytest.raises(FleetUnavailable) as refused:
        check(url)
    assert refused.value.exit_code is ExitCode.FLEET
    assert refused.value.hint
    return refused.value


def test_the_second_call_changes_nothing(cluster: Cluster) -> None:
    url = cluster.url(cluster.new_database())
    first = initialise(url)
    assert any("made the tables" in each for each in first.done)
    assert initialise(url).done == ()
    check(url)


def test_a_database_of_something_else_is_left_alone(cluster: Cluster) -> None:
    name = cluster.new_database()
    cluster.execute("CREATE TABLE customers (id int)", name)
    with pytest.raises(FleetUnavailable, match=r"it has a table public\.customers"):
        initialise(cluster.url(name))
    assert cluster.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", name) == [
        (1,)
    ]
    assert cluster.execute("SELECT to_regclass('llmch.fleet')", name) == [(None,)]


def test_a_database_without_a_fleet_is_refused(cluster: Cluster) -> None:
    refused = refusal(cluster.url(cluster.new_database()))
    assert "is not a fleet's database" in refused.message
    assert "llmch fleet init" in refused.hint


def test_an_older_schema_says_how_to_upgrade_and_init_does_it(
    cluster: Cluster, database: str
) -> None:
    url = cluster.url(database)
    cluster.execute("UPDATE llmch.fleet SET schema_version = 0, llmch_version = '0.0.1'", database)
    refused = refusal(url)
    assert "older schema 0 of llmch 0.0.1" in refused.message
    assert "llmch fleet init" in refused.hint
    assert f"brought the tables from schema 0 to {SCHEMA_VERSION}" in initialise(url).done
    check(url)


def test_a_newer_schema_names_the_llmch_that_is_needed(cluster: Cluster, database: str) -> None:
    url = cluster.url(database)
    cluster.execute("UPDATE llmch.fleet SET schema_version = 99, llmch_version = '9.9'", database)
    refused = refusal(url)
    assert "newer schema 99" in refused.message
    assert "llmch 9.9 or newer" in refused.hint
    with pytest.raises(FleetUnavailable, match="newer schema 99"):
        initialise(url)


def test_a_wrong_password_is_refused_without_repeating_it(cluster: Cluster, database: str) -> None:
    refused = refusal(cluster.url(database, password="not-the-one"))
    assert "refuses the user or the password" in refused.message
    assert "not-the-one" not in f"{refused.message}{refused.hint}"


def test_a_database_that_is_not_there_and_a_server_that_is_not_there(cluster: Cluster) -> None:
    assert "there is no database nowhere" in refusal(cluster.url("nowhere")).message
    gone = DatabaseUrl("postgresql://admin:p4ss@127.0.0.1:1/fleet")
    refused = refusal(gone)
    assert "cannot be reached" in refused.message
    assert "p4ss" not in f"{refused.message}{refused.hint}"


def test_members_and_readers_may_do_no_more_than_they_need(cluster: Cluster) -> None:
    name = cluster.new_database()
    roles = initialise(cluster.url(name)).roles
    for login, role in (("ada", roles.member), ("eve", roles.reader), ("zoe", None)):
        cluster.execute(f"CREATE ROLE {name}_{login} LOGIN PASSWORD 'secret'")
        if role:
            cluster.execute(f"GRANT {role} TO {name}_{login}")
    insert = "INSERT INTO llmch.replies (plan, key, record, worker) VALUES ('p', 'k', '{}', 'w')"
    with closing(Database(cluster.url(name, f"{name}_ada", "secret"), "test")) as member:
        check_schema(member)
        member.run(lambda cursor: cursor.execute(insert))
        for statement in ("DELETE FROM llmch.replies", "DROP TABLE llmch.replies"):
            refuses(member, statement)
        refuses(member, "CREATE TABLE llmch.more (id int)")
    with closing(Database(cluster.url(name, f"{name}_eve", "secret"), "test")) as reader:
        check_schema(reader)
        refuses(reader, insert)
        refuses(reader, "SELECT * FROM llmch.replies")
    stranger = refusal(cluster.url(name, f"{name}_zoe", "secret"))
    assert "permission denied" in stranger.message


def refuses(database: Database, statement: str) -> None:
    with pytest.raises(FleetUnavailable, match=r"permission denied|must be owner"):
        database.run(lambda cursor: cursor.execute(statement))


def test_no_text_of_the_url_has_its_password() -> None:
    url = DatabaseUrl("postgresql://ada:s3cret@db.example:5433/fleet?sslmode=verify-full")
    assert f"{url}" == "fleet on db.example:5433 as ada"
    assert "s3cret" not in f"{url!r}{url!s}"


def test_a_name_that_leaves_no_room_for_its_roles_is_refused(cluster: Cluster) -> None:
    cluster.execute(f"CREATE DATABASE {'d' * 63}")
    with pytest.raises(InvalidInput, match="no room for those of its roles"):
        initialise(cluster.url("d" * 63))


def test_a_database_that_became_read_only_is_waited_for(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    with closing(Database(url, "test")) as member:
        lease = Lease(member, "one", 30)
        lease.begin(1)
        member.run(lambda cursor: cursor.execute("SET default_transaction_read_only = on"))
        with pytest.raises(FleetUnavailable, match="read-only"):
            lease.beat()
        assert lease.beat(), "a new connection is made"
        with pytest.raises(InvalidInput, match="cannot store"):
            Lease(member, "w\udcff", 30).begin(1)


def test_a_worker_that_left_is_no_other_one_of_the_same_pid(url: DatabaseUrl) -> None:
    with closing(Database(url, "test")) as member:
        lease = Lease(member, "one", 30)
        lease.begin(1)
        lease.begin(1)
        lease.leave()
        with pytest.raises(InvalidInput, match="was started before"):
            lease.begin(1)


def test_an_event_that_is_none_is_passed_over(
    cluster: Cluster, database: str, url: DatabaseUrl
) -> None:
    for number, text in enumerate(("[" * 100_000, "no JSON", "[1]"), 1):
        cluster.execute(
            "INSERT INTO llmch.events (run, job, worker, number, event)"
            " VALUES ('r', 'j', 'w', %s, %s)",
            database,
            number,
            text,
        )
    with closing(Database(url, "test")) as member:
        seen = events_after(member, {"j": 0})
    assert [event_from_json(each.document) for each in seen] == [None] * 3
