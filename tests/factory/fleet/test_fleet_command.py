"""`llmch fleet`: what administrators and users are told, and in which words it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.fleet.database import SCHEMA_VERSION
from factory.fleet.leases import Lease
from shared.errors import ExitCode
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import PASSWORD, Cluster
from tests.factory.fleet.fleet_of_processes import FleetOfProcesses, fleet_on
from tests.llmch.command_line import Said, Say, say_in

VARIABLE = "LLMCH_FLEET_DB"


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run a command line as a person does who keeps the database's URL in a file."""
    return say_in(tmp_path, capsys)


def on(url: DatabaseUrl, folder: Path) -> None:
    (folder / "llmch.toml").write_text(f'[fleet]\ndb = "{url.text}"\n')


def words(said: Said, code: int) -> str:
    assert said.code == code
    assert "Traceback" not in said.err
    assert PASSWORD not in said.out + said.err
    return said.err


@pytest.mark.rest
def test_init_says_what_it_made_and_then_that_nothing_was_missing(
    cluster: Cluster, say: Say, tmp_path: Path
) -> None:
    name = cluster.new_database()
    on(cluster.url(name), tmp_path)
    first = say("fleet", "init", "--json").document
    assert first["schema_version"] == SCHEMA_VERSION
    assert first["roles"] == {"member": f"{name}_member", "reader": f"{name}_reader"}
    assert f"made the role {name}_member" in first["done"]
    again = say("fleet", "init")
    assert again.code == 0
    assert "nothing was missing" in again.out
    assert f'GRANT "{name}_member" TO worker1' in again.out + again.err


def test_without_a_fleet_it_says_where_to_name_one(say: Say) -> None:
    said = words(say("fleet", "status"), ExitCode.FLEET)
    assert "no fleet is set up" in said
    assert VARIABLE in said


@pytest.mark.rest
def test_the_url_may_stand_in_the_variable_and_is_not_inherited(
    say: Say, url: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.setenv(VARIABLE, url.text)
    said = say("fleet", "status", "--json")
    assert said.document["workers"] == []
    assert VARIABLE not in os.environ


def test_databases_that_cannot_be_used_are_told_apart(
    cluster: Cluster, say: Say, database: str, tmp_path: Path
) -> None:
    on(cluster.url(database, password="wrong-one"), tmp_path)
    assert "refuses the user or the password" in words(say("fleet", "status"), ExitCode.FLEET)
    on(cluster.url("nowhere"), tmp_path)
    assert "there is no database" in words(say("fleet", "init"), ExitCode.FLEET)
    on(cluster.url(cluster.new_database()), tmp_path)
    assert "is not a fleet's database" in words(say("fleet", "status"), ExitCode.FLEET)
    cluster.execute("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII'")
    on(cluster.url("ascii"), tmp_path)
    assert "keeps text as SQL_ASCII" in words(say("fleet", "init"), ExitCode.FLEET)
    on(DatabaseUrl(f"postgresql://admin:{PASSWORD}@127.0.0.1:1/fleet"), tmp_path)
    assert "cannot be reached" in words(say("fleet", "status"), ExitCode.FLEET)
    on(DatabaseUrl(f"postgresql://admin:{PASSWORD}@127.0.0.1/fleet?sslmode=sometimes"), tmp_path)
    assert say("fleet", "status", "--json").error["name"] == "FLEET"


def test_wrong_arguments_are_refused_before_the_database_is_asked(say: Say) -> None:
    assert "need a PLAN" in words(say("fleet", "cancel"), ExitCode.INVALID)
    assert "need a PLAN" in words(say("fleet", "status", "plan"), ExitCode.INVALID)
    assert "--watch belongs to" in words(say("fleet", "init", "--watch"), ExitCode.INVALID)
    assert say("fleet", "frobnicate").code == ExitCode.INVALID


def test_status_and_cancel_know_workers_jobs_and_plans(
    say: Say, url: DatabaseUrl, tmp_path: Path
) -> None:
    on(url, tmp_path)
    (tmp_path / "jobs").mkdir()
    with fleet_on(url, tmp_path / "jobs") as fleet:
        Lease(fleet.database, "idle", 600).begin(2)
        Lease(fleet.database, "late", 0.0).begin(1)
        _check(fleet, say)


def _check(fleet: FleetOfProcesses, say: Say) -> None:
    fleet.put("one")
    fleet.put("two")
    fleet.put("two")
    document = say("fleet", "status", "--json").document
    assert {each["id"]: each["state"] for each in document["workers"]} == {
        "idle": "alive",
        "late": "late",
    }
    by_hand = {"state": "running", "about": None, "coordinator": None}
    assert document["plans"] == [
        {"plan": "one", **by_hand, "waiting": 1, "running": 0},
        {"plan": "two", **by_hand, "waiting": 2, "running": 0},
    ]
    assert {(each["id"], each["kind"], each["state"]) for each in document["queue"]} == {
        ("one-1", "propose", "waiting"),
        ("two-2", "propose", "waiting"),
        ("two-3", "propose", "waiting"),
    }
    shown = say("fleet", "status").out
    assert "idle" in shown
    assert "two" in shown
    cancelled = say("fleet", "cancel", "two", "--json").document
    assert cancelled == {"plan": "two", "cancelled": ["two-2", "two-3"]}
    refused = words(say("fleet", "cancel", "two"), ExitCode.INVALID)
    assert "no unfinished job of a plan 'two'" in refused
    assert "it works on one" in refused


def test_a_reader_sees_the_status_and_cannot_cancel(
    cluster: Cluster, say: Say, tmp_path: Path
) -> None:
    name = cluster.new_database()
    on(cluster.url(name), tmp_path)
    assert say("fleet", "init").code == 0
    cluster.execute(f"CREATE ROLE {name}_eve LOGIN PASSWORD '{PASSWORD}'")
    cluster.execute(f"GRANT {name}_reader TO {name}_eve")
    (tmp_path / "jobs").mkdir()
    with fleet_on(cluster.url(name), tmp_path / "jobs") as fleet:
        fleet.put("one")
        on(cluster.url(name, f"{name}_eve"), tmp_path)
        assert len(say("fleet", "status", "--json").document["queue"]) == 1
        words(say("fleet", "cancel", "one"), ExitCode.FLEET)
        assert len(fleet.queue.unfinished()) == 1
