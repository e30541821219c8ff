"""A part of the fleet is away for a while, or stands still: what a run makes of it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from factory.fleet.fleet_admin import read_fleet
from shared.errors import ExitCode
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.gate import Gate
from tests.factory.fleet.scale import large
from tests.factory.fleet.shifted_clock import shifted_clock
from tests.factory.fleet.small_fleet import (
    SmallFleet,
    order,
    run_all,
    start_run_all_logged,
)
from tests.factory.fleet.traces import rows_left
from tests.harness import git

_PATIENCE_SECONDS = 240.0


# The gate is in the repo before the fleet has it.
pytestmark = [pytest.mark.rest, pytest.mark.usefixtures("gate")]


@dataclass(frozen=True)
class Run:
    """A plan of three orders on the fleet, and the tip that one machine makes of it."""

    fleet: SmallFleet
    plan: Path
    process: subprocess.Popen[str]
    tip: str
    calls: int
    log: Path

    @property
    def err(self) -> str:
        return self.log.with_suffix(".err").read_text()

    def ended(self) -> int:
        return self.process.wait(_PATIENCE_SECONDS)

    def lands(self) -> None:
        """See that the run ends as it would have, with a call for each order."""
        assert self.ended() == 0, self.err
        assert self.document["tip"] == self.tip
        assert len(self.fleet.model.received) == 2 * self.calls
        assert self.fleet.refs_left() == ""

    def goes_on(self) -> None:
        """See that the same command lands what is left, and that nothing stays anywhere."""
        again = run_all(self.fleet, self.fleet.repo, self.plan, "--on", "fleet")
        assert again.code == 0, again.err
        assert again.document["tip"] == self.tip
        assert len(self.fleet.model.received) == 2 * self.calls
        assert self.fleet.refs_left() == ""

    @property
    def document(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.log.with_suffix(".out").read_text())
        return found

    @property
    def message(self) -> str:
        error = self.document["error"]
        assert isinstance(error, dict)
        assert "Traceback" not in self.err
        return str(error["message"])


@pytest.fixture
def run(fleet: SmallFleet, gate: Gate) -> Iterator[Run]:
    """A run that has begun; workers are started by the test."""
    plan = fleet.plan(order(1), order(2), order(3, context_files=["1.txt"]))
    gate.open()
    alone = run_all(fleet, fleet.copy_of_repo(), plan)
    assert alone.code == 0, alone.err
    gate.close()
    log = fleet.folder / "run"
    process = start_run_all_logged(fleet, plan, log)
    yield Run(fleet, plan, process, alone.document["tip"], len(fleet.model.received), log)
    process.kill()
    process.wait()


@large
def test_a_run_waits_for_its_database_and_loses_nothing(
    cluster: Cluster, fleet: SmallFleet, gate: Gate, run: Run
) -> None:
    for name in ("one", "two"):
        fleet.start_worker(name)
    gate.has_waiting(2)
    cluster.stop()
    try:
        until(lambda: "lost the fleet's database" in run.err, "the run notices")
        for name in ("one", "two"):
            until(lambda name=name: "lost the fleet" in fleet.said_by(name), "the worker notices")  # type: ignore[misc]
        gate.open()  # what is judged now ends while there is nowhere to store it
    finally:
        cluster.start()
    run.lands()
    assert "the fleet's database is back" in run.err
    assert [each.dead for each in read_fleet(fleet.url).workers] == ["", ""]


@large
def test_a_worker_that_is_frozen_ends_on_waking_and_its_steps_are_done_by_another(
    fleet: SmallFleet, gate: Gate, run: Run
) -> None:
    frozen = fleet.start_worker("frozen", "--slots", "3")
    gate.has_waiting(2)
    frozen.send_signal(signal.SIGSTOP)
    fleet.start_worker("other", "--slots", "3")
    until(lambda: "of worker frozen, which died" in fleet.said_by("other"), "it is rescued")
    gate.open()
    run.lands()
    frozen.send_signal(signal.SIGCONT)
    assert frozen.wait(_PATIENCE_SECONDS) == ExitCode.FLEET
    assert "worker frozen ends: it" in fleet.said_by("frozen")
    assert fleet.refs_left() == ""


@large
def test_a_run_that_is_frozen_loses_to_the_one_that_went_on(
    cluster: Cluster, database: str, fleet: SmallFleet, gate: Gate, run: Run
) -> None:
    fleet.start_worker("one", "--slots", "3")
    gate.has_waiting(2)
    run.process.send_signal(signal.SIGSTOP)
    until(lambda: any(each.dead for each in read_fleet(fleet.url).runs), "the run is given up")
    gate.open()
    copy = fleet.folder / "copy" / fleet.repo.name
    other = run_all(fleet, copy, run.plan, "--on", "fleet", "--push", branch="other")
    assert other.code == 0, other.err
    run.process.send_signal(signal.SIGCONT)
    assert run.ended() == ExitCode.FAILED
    assert "stood still for longer than its lease" in run.message
    assert git(fleet.remote, "rev-parse", "other") == run.tip
    assert git(fleet.repo, "for-each-ref", "refs/heads/work") == ""
    assert fleet.refs_left() == ""
    assert rows_left(cluster, database) == {}


@large
def test_a_remote_that_refuses_pushes_for_long_ends_the_run_which_goes_on_afterwards(
    cluster: Cluster, database: str, fleet: SmallFleet, gate: Gate, run: Run
) -> None:
    hook = fleet.remote / "hooks" / "pre-receive"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\necho 'closed for repairs' >&2\nexit 1\n")
    hook.chmod(0o755)
    fleet.start_worker("one", "--slots", "3")
    gate.open()
    assert run.ended() == ExitCode.FAILED
    assert "git push" in run.message
    assert "closed for repairs" in run.message
    hook.unlink()
    again = run_all(fleet, fleet.repo, run.plan, "--on", "fleet")
    assert again.code == 0, again.err
    assert again.document["tip"] == run.tip
    assert fleet.refs_left() == ""
    assert rows_left(cluster, database) == {}


@large
def test_a_remote_that_goes_away_while_candidates_are_judged_ends_the_run_which_goes_on(
    cluster: Cluster, database: str, fleet: SmallFleet, gate: Gate, run: Run
) -> None:
    fleet.start_worker("one", "--slots", "3")
    gate.has_waiting(2)
    away = fleet.folder / "away"
    fleet.remote.rename(away)
    gate.open()
    assert run.ended() == ExitCode.FAILED
    assert str(fleet.remote) in run.message
    away.rename(fleet.remote)
    run.goes_on()
    assert rows_left(cluster, database) == {}


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Give a folder on a disk of its own of a few megabytes; skip the test where nobody may."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Write a file until the disk has no room left, and return it."""
    path = folder / "filler"
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"0" * 4096):
            pass
    return path


@large
def test_a_worker_whose_disk_is_full_ends_the_run_in_words_which_goes_on(
    fleet: SmallFleet, gate: Gate, run: Run
) -> None:
    with small_disk(fleet.folder / "small") as disk:
        worker = fleet.start_worker("small", "--slots", "3")
        gate.has_waiting(2)
        filler = fill(disk)
        gate.open()
        assert run.ended() == ExitCode.PREFLIGHT
        assert "worker small: cannot write" in run.message
        assert "No space left on device" in run.message
        assert str(fleet.folder) not in run.message  # no folder of another machine
        until(lambda: "takes no jobs for now" in fleet.said_by("small"), "it takes no more")
        filler.unlink()
        until(lambda: "takes jobs again" in fleet.said_by("small"), "it takes jobs again")
        run.goes_on()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(_PATIENCE_SECONDS) == 0
        assert "Traceback" not in fleet.said_by("small")


@large
def test_clocks_that_differ_by_minutes_change_nothing(
    fleet: SmallFleet, gate: Gate, run: Run
) -> None:
    clock = shifted_clock(fleet.folder)
    for name, seconds in (("early", -300), ("late", 300)):
        fleet.start_worker(name, **clock.showing(seconds))
    gate.has_waiting(2)
    gate.open()
    run.lands()
    assert [each.dead for each in read_fleet(fleet.url).workers] == ["", ""]
