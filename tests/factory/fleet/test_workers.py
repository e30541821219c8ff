"""Workers as real processes: what they take, and what happens when one dies, freezes or leaves."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from factory.fleet.leases import LEFT, MAX_TAKEOVERS, died_with
from factory.fleet.wire import JobState, Kind, Refusal
from shared.errors import ExitCode
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.fleet_of_processes import FleetOfProcesses, fleet_on, until

pytestmark = pytest.mark.rest


large = pytest.mark.skipif(
    os.environ.get("LLMCH_TEST_FLEET") != "full", reason="a large test: make test-fleet runs it"
)


@pytest.fixture
def fleet(url: DatabaseUrl, tmp_path: Path) -> Iterator[FleetOfProcesses]:
    with fleet_on(url, tmp_path) as opened:
        yield opened


def test_each_worker_has_its_own_width_and_answers_come_back(fleet: FleetOfProcesses) -> None:
    jobs = [fleet.put(f"plan{n}", wait=True, say=n) for n in range(6)]
    fleet.started("narrow", slots=1)
    fleet.started("wide", slots=3)
    until(lambda: len(fleet.beginnings()) == 4, "all slots are full")
    assert sorted(fleet.beginnings()) == ["narrow", "wide", "wide", "wide"]
    assert sorted(fleet.standing(each).state for each in jobs) == ["running"] * 4 + ["waiting"] * 2
    fleet.go.touch()
    assert [fleet.answer(each)["said"] for each in jobs] == list(range(6))  # type: ignore[index]


def test_what_a_killed_worker_had_begun_is_done_by_another(fleet: FleetOfProcesses) -> None:
    job = fleet.put(wait=True)
    (killed,) = fleet.started("killed")
    until(lambda: fleet.beginnings() == ["killed"], "the job begins")
    fleet.started("other")
    killed.send(signal.SIGKILL)
    until(lambda: fleet.beginnings() == ["killed", "other"], "the other takes over")
    fleet.go.touch()
    assert fleet.answer(job) == {"by": "other", "said": ""}
    assert fleet.seen("killed").dead.startswith("silent for")
    assert died_with(fleet.database, job) == ["killed"]


def test_a_frozen_worker_ends_itself_on_waking_and_its_answer_is_not_taken(
    fleet: FleetOfProcesses,
) -> None:
    job = fleet.put(wait=True)
    (frozen,) = fleet.started("frozen")
    until(lambda: fleet.beginnings() == ["frozen"], "the job begins")
    frozen.send(signal.SIGSTOP)
    fleet.started("other")
    until(lambda: fleet.beginnings() == ["frozen", "other"], "the other takes over")
    fleet.go.touch()
    frozen.send(signal.SIGCONT)
    assert frozen.ended() == ExitCode.FLEET
    assert "ends: it" in frozen.said
    assert fleet.answer(job) == {"by": "other", "said": ""}


@large
def test_a_worker_that_is_told_to_end_hands_its_job_on_at_once(fleet: FleetOfProcesses) -> None:
    job = fleet.put(wait=True)
    (leaving,) = fleet.started("leaving")
    until(lambda: fleet.beginnings() == ["leaving"], "the job begins")
    fleet.started("other")
    leaving.send(signal.SIGTERM)
    assert leaving.ended() == 0
    assert f"dropped {job}" in leaving.said
    until(lambda: fleet.beginnings() == ["leaving", "other"], "the other takes over")
    fleet.go.touch()
    assert fleet.answer(job) == {"by": "other", "said": ""}
    assert fleet.seen("leaving").dead == LEFT
    assert died_with(fleet.database, job) == []


@large
def test_an_outage_of_the_database_loses_neither_a_worker_nor_a_result(
    cluster: Cluster, fleet: FleetOfProcesses
) -> None:
    job = fleet.put(wait=True)
    workers = fleet.started("one", "two")
    until(lambda: bool(fleet.beginnings()), "the job begins")
    cluster.stop()
    try:
        until(lambda: all("lost the fleet" in each.said for each in workers), "both notice")
        fleet.go.touch()  # the job ends while there is nowhere to store its result
    finally:
        cluster.start()
    until(lambda: all("is back" in each.said for each in workers), "both are back")
    assert fleet.answer(job) == {"by": fleet.beginnings()[0], "said": ""}
    assert len(fleet.beginnings()) == 1
    assert [fleet.seen(each.id).dead for each in workers] == ["", ""]


@large
def test_a_job_that_kills_its_workers_is_given_up_and_its_victims_are_named(
    cluster: Cluster, database: str, fleet: FleetOfProcesses
) -> None:
    fleet.started("other")
    other = fleet.workers[0]
    other.send(signal.SIGSTOP)  # so that the job is the victim's
    fleet.started("victim")
    job = fleet.put(die=True)
    before = [f"victim{n}" for n in range(1, MAX_TAKEOVERS)]
    for each in before:
        cluster.execute(
            "INSERT INTO llmch.takeovers (job, worker) VALUES (%s, %s)", database, job, each
        )
    until(lambda: fleet.beginnings() == ["victim"], "the job kills the victim")
    (rescuer,) = fleet.started("rescuer")
    until(lambda: fleet.standing(job).state is JobState.CANCELLED, "the job is given up")
    until(
        lambda: f"{job} of worker victim, which died, is given up" in rescuer.said,
        "the rescuer says so",
    )
    assert died_with(fleet.database, job) == [*before, "victim"]
    assert fleet.beginnings() == ["victim"]


@large
def test_a_worker_on_an_unfit_machine_takes_no_jobs_until_it_is_fit_again(
    fleet: FleetOfProcesses,
) -> None:
    fleet.unfit("poor").touch()
    poor = fleet.start("poor", slots=4)
    until(lambda: "takes no jobs for now: it is unfit" in poor.said, "it says so")
    fleet.started("other")
    jobs = [fleet.put() for _ in range(3)]
    assert {fleet.answer(each)["by"] for each in jobs} == {"other"}  # type: ignore[index]
    held = fleet.put(wait=True)
    until(lambda: fleet.beginnings(held) == ["other"], "the other is full")
    waiting = fleet.put()
    fleet.unfit("poor").unlink()
    assert fleet.answer(waiting)["by"] == "poor"  # type: ignore[index]
    fleet.go.touch()


def test_a_cancelled_job_is_dropped_by_its_worker(fleet: FleetOfProcesses) -> None:
    running, waiting = fleet.put(wait=True), fleet.put(wait=True)
    (worker,) = fleet.started("one")
    until(lambda: len(fleet.beginnings()) == 1, "the first job begins")
    fleet.queue.cancel([running, waiting])
    until(lambda: f"dropped {running}" in worker.said, "the worker drops it")
    assert [fleet.standing(each).state for each in (running, waiting)] == [JobState.CANCELLED] * 2
    fleet.go.touch()
    assert fleet.answer(fleet.put()) == {"by": "one", "said": ""}
    assert fleet.beginnings(waiting) == []
    fleet.queue.forget([running, waiting])
    assert fleet.queue.look([running, waiting]) == {}


@large
def test_coordinators_have_slots_of_their_own_and_one_branch_has_one(
    fleet: FleetOfProcesses,
) -> None:
    first, second = (fleet.put("branch", Kind.COORDINATE, wait=True) for _ in range(2))
    fleet.started("one", slots=1)
    until(lambda: fleet.beginnings(first) == ["one"], "a coordinator begins")
    assert fleet.answer(fleet.put("order")) == {"by": "one", "said": ""}
    assert fleet.standing(second).state is JobState.WAITING
    fleet.go.touch()
    fleet.answer(second)


def test_an_id_is_never_used_twice(fleet: FleetOfProcesses) -> None:
    (first,) = fleet.started("one")
    again = fleet.start("one")
    assert again.ended() == ExitCode.INVALID
    assert "a worker with the id 'one' was started before" in again.said
    assert first.process.poll() is None


# What a hostile or a newer writer puts into the queue


@large
def test_a_pickle_in_the_queue_is_never_read(
    cluster: Cluster, database: str, fleet: FleetOfProcesses, tmp_path: Path
) -> None:
    import base64
    import pickle

    class Planted:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    row = base64.b64encode(pickle.dumps({"args": (Planted(),), "kwargs": {}})).decode()
    job = fleet.put()
    cluster.execute(
        "UPDATE llmch_engine.workflow_status SET serialization = 'py_pickle'"
        " WHERE workflow_uuid = %s",
        database,
        job,
    )
    cluster.execute(
        "UPDATE llmch_engine.workflow_input SET inputs = %s WHERE workflow_uuid = %s",
        database,
        row,
        job,
    )
    fleet.started("one")
    answer = fleet.answer(job)
    assert isinstance(answer, Refusal)
    assert "pickle" in answer.message
    # What a coordinator reads back is a pickle as well.
    done = fleet.put()
    fleet.answer(done)
    planted = base64.b64encode(pickle.dumps(Planted())).decode()
    cluster.execute(
        "UPDATE llmch_engine.workflow_status SET serialization = 'py_pickle'"
        " WHERE workflow_uuid = %s",
        database,
        done,
    )
    cluster.execute(
        "UPDATE llmch_engine.workflow_output SET output = %s WHERE workflow_uuid = %s",
        database,
        planted,
        done,
    )
    assert isinstance(fleet.answer(done), Refusal)
    assert not (tmp_path / "ran").exists()
    assert pickle.loads is not None  # only the engine's own use of it is shut


@large
def test_a_job_of_another_protocol_is_refused_in_words(
    cluster: Cluster, database: str, fleet: FleetOfProcesses
) -> None:
    ours, theirs, forged = fleet.put(), fleet.put("other"), fleet.put("forged")
    change = "UPDATE llmch_engine.workflow_status SET application_version = 'llmch-99'"
    cluster.execute(f"{change} WHERE workflow_uuid = %s", database, theirs)
    cluster.execute(
        "UPDATE llmch_engine.workflow_input SET inputs = "
        "replace(inputs, '\"protocol\":1', '\"protocol\":99') WHERE workflow_uuid = %s",
        database,
        forged,
    )
    fleet.started("one")
    assert fleet.answer(ours) == {"by": "one", "said": ""}
    answer = fleet.answer(forged)
    assert isinstance(answer, Refusal)
    assert answer.code == ExitCode.FLEET
    assert "the job speaks protocol 99" in answer.message
    assert fleet.standing(theirs).state is JobState.WAITING
    assert fleet.beginnings(theirs) == []
