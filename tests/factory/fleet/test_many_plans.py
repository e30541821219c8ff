"""Hundreds of plans in the queue: all land, no branch waits for another one, no worker grows."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from factory.fleet.fleet_admin import read_fleet
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.scale import BRANCHES, PLANS_OF_A_BRANCH, large
from tests.factory.fleet.small_fleet import SmallFleet, order
from tests.factory.fleet.traces import rows_left
from tests.harness import git
from tests.llmch.command_line import Say, say_in

_WORKERS = ("one", "two", "three", "four")
_ORDERS = 3
_PLANS = BRANCHES * PLANS_OF_A_BRANCH
# What a worker has loaded and opened for its first plans is not counted.
_WARM = max(_PLANS // 10, len(_WORKERS))
_MOST_GROWTH = 1.15
_LOOK_EVERY_SECONDS = 0.5
# Nothing has landed anywhere for so long: something hangs.
_PATIENCE_SECONDS = 180.0


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return say_in(tmp_path / "person", capsys)


def submit(fleet: SmallFleet, say: Say, branch: int, turn: int) -> str:
    """Queue the branch's plan number `turn`, whose files no other plan of the branch has."""
    first = turn * _ORDERS + 1
    orders = [order(number + 1, first + number) for number in range(_ORDERS)]
    plan = fleet.plan_in(f"plan{turn}", *orders)
    said = say(
        *("submit", "--repo", fleet.remote, "--workdir", plan, "--branch", f"work{branch}"),
        *("--json", "--reply-format", "json"),
    )
    assert said.code == 0, said.err
    return str(said.document["plan"])


@dataclass
class Watch:
    """Look how many plans have landed on each branch, and how much memory workers have."""

    fleet: SmallFleet
    least_when_first_is_done: int | None = None
    warm: dict[str, int] = field(default_factory=dict)

    def until_all_have_ended(self) -> None:
        """Wait as long as plans end."""
        ended, last = 0, time.monotonic()
        while ended < _PLANS:
            time.sleep(_LOOK_EVERY_SECONDS)
            counts = self._landed()
            states = Counter(str(each.state) for each in read_fleet(self.fleet.url).plans)
            if states["ended"] > ended:
                ended, last = states["ended"], time.monotonic()
            hangs = time.monotonic() - last > _PATIENCE_SECONDS
            assert not hangs, (states, [self.fleet.said_by(each)[-2000:] for each in _WORKERS])
            if ended >= _WARM and not self.warm:
                self.warm = self.memory()
            if max(counts.values()) == PLANS_OF_A_BRANCH and self.least_when_first_is_done is None:
                self.least_when_first_is_done = min(counts[each] for each in range(BRANCHES))

    def _landed(self) -> Counter[int]:
        tips = git(self.fleet.remote, "for-each-ref", "--format=%(refname:short)", "refs/heads")
        names = [each for each in tips.splitlines() if each.startswith("work")]
        counted = {
            int(name.removeprefix("work")): int(
                git(self.fleet.remote, "rev-list", "--count", f"main..{name}")
            )
            for name in names
        }
        return Counter({-1: 0, **{key: count // _ORDERS for key, count in counted.items()}})

    def memory(self) -> dict[str, int]:
        """Return the resident memory of each worker in KiB."""
        return {name: _rss(self.fleet.workers[name].pid) for name in _WORKERS}


def _rss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@large
def test_all_land_no_branch_waits_for_another_and_no_worker_grows(
    cluster: Cluster, database: str, fleet: SmallFleet, say: Say
) -> None:
    fleet.person()
    # The plans of one branch are queued before those of the next: a queue without turns would
    # have the last branch wait for all others.
    plans = [
        submit(fleet, say, branch, turn)
        for branch in range(BRANCHES)
        for turn in range(PLANS_OF_A_BRANCH)
    ]
    for name in _WORKERS:
        fleet.start_worker(name, "--slots", "2", "--plans", "2")
    watch = Watch(fleet)
    watch.until_all_have_ended()
    for plan in plans:
        ended = say("fleet", "wait", plan, "--json")
        assert ended.code == 0, ended.err + ended.out
    assert watch.least_when_first_is_done
    grown = {name: now / watch.warm[name] for name, now in watch.memory().items()}
    assert max(grown.values()) < _MOST_GROWTH, (watch.warm, watch.memory())
    assert len(fleet.model.received) == _PLANS * _ORDERS
    assert read_fleet(fleet.url).plans == []
    assert fleet.refs_left() == ""
    assert rows_left(cluster, database) == {}
