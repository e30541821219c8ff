"""Two runs for one branch, strangers who move it, and workers who lie about what they made."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from shared.errors import ExitCode
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.gate import Gate
from tests.factory.fleet.scale import large
from tests.factory.fleet.small_fleet import (
    SmallFleet,
    order,
    run_all,
    start_run_all,
)
from tests.factory.fleet.traces import rows_left
from tests.harness import git

_PATIENCE_SECONDS = 240.0


# The gate is in the repo before the fleet has it.
pytestmark = [pytest.mark.rest, pytest.mark.usefixtures("gate")]


@large
def test_of_two_runs_in_one_clone_the_second_is_refused(fleet: SmallFleet, gate: Gate) -> None:
    plan = fleet.plan(order(1))
    fleet.start_worker("one")
    with start_run_all(fleet, plan) as first:
        gate.has_waiting()
        second = run_all(fleet, fleet.repo, plan, "--on", "fleet")
        assert second.code == ExitCode.BUSY
        gate.open()
        _, err = first.communicate(timeout=_PATIENCE_SECONDS)
    assert first.returncode == 0, err


@large
def test_two_runs_in_two_clones_make_the_same_commits_and_share_their_calls(
    cluster: Cluster, database: str, fleet: SmallFleet, gate: Gate
) -> None:
    plan, copy = fleet.plan(order(1), order(2)), fleet.copy_of_repo()
    fleet.start_worker("one", "--slots", "4")
    with start_run_all(fleet, plan, "--push") as first:
        gate.has_waiting(2)
        gate.open()
        second = run_all(fleet, copy, plan, "--on", "fleet", "--push")
        out, err = first.communicate(timeout=_PATIENCE_SECONDS)
    assert (first.returncode, second.code) == (0, 0), err + second.err
    assert (
        second.document["tip"] == json.loads(out)["tip"] == git(fleet.remote, "rev-parse", "work")
    )
    assert len(fleet.model.received) == 2
    assert fleet.refs_left() == ""
    assert rows_left(cluster, database) == {}


@large
def test_a_branch_that_a_stranger_moves_is_left_to_the_stranger(
    cluster: Cluster, database: str, fleet: SmallFleet, gate: Gate
) -> None:
    plan = fleet.plan(order(1), order(2))
    fleet.start_worker("one", "--slots", "2")
    git(fleet.repo, "commit", "--quiet", "--allow-empty", "--message=theirs")
    theirs = git(fleet.repo, "rev-parse", "HEAD")
    git(fleet.repo, "reset", "--quiet", "--hard", "HEAD^")
    with start_run_all(fleet, plan, "--push") as running:
        gate.has_waiting(2)
        git(fleet.repo, "update-ref", "refs/heads/work", theirs)
        gate.open()
        out, err = running.communicate(timeout=_PATIENCE_SECONDS)
    assert running.returncode == ExitCode.FAILED, err
    assert "someone else moved it" in json.loads(out)["error"]["message"]
    assert git(fleet.repo, "rev-parse", "work") == theirs
    assert git(fleet.remote, "for-each-ref", "refs/heads/work") == ""
    assert fleet.refs_left() == ""
    assert rows_left(cluster, database) == {}


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        pytest.param("other_tree", "it changes what the order does not allow: planted.txt"),
        pytest.param("other_parent", "it is not the commit of this order", marks=large),
        pytest.param("gibberish", "sent an outcome that cannot be read", marks=large),
        pytest.param("records_that_clash", "sent an outcome that cannot be read", marks=large),
    ],
)
def test_what_a_worker_lies_about_does_not_land(
    fleet: SmallFleet, gate: Gate, lie: str, said: str
) -> None:
    gate.open()
    plan = fleet.plan(order(1), order(2))
    fleet.start_worker("liar", "--slots", "2", lie=lie)
    refused = run_all(fleet, fleet.repo, plan, "--on", "fleet")
    assert refused.code == ExitCode.FAILED, refused.err
    assert said in refused.error["message"]
    assert "Traceback" not in refused.err
    assert git(fleet.repo, "for-each-ref", "refs/heads/work") == ""
    fleet.workers["liar"].send_signal(signal.SIGTERM)
    assert fleet.workers["liar"].wait(_PATIENCE_SECONDS) == 0
    fleet.start_worker("honest", "--slots", "2")
    again = run_all(fleet, fleet.repo, plan, "--on", "fleet")
    assert again.code == 0, again.err
    assert len(fleet.model.received) == 2
    assert fleet.refs_left() == ""  # nor what the liar pushed after its run had ended


@large
def test_records_of_a_worker_stay_in_the_folder_of_their_order(
    fleet: SmallFleet, gate: Gate
) -> None:
    gate.open()
    fleet.start_worker("liar", "--slots", "2", lie="records_elsewhere")
    said = run_all(fleet, fleet.repo, fleet.plan(order(1)), "--on", "fleet")
    assert said.code == 0, said.err
    assert list(fleet.folder.rglob("planted*")) == []
    assert not Path("/tmp/planted-by-a-worker").exists()
