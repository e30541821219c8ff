"""A fleet of workers: how near it comes to the critical path, and what the queue costs an order."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.rows import Aim, Row, Section
from benchmarks.setting import Bench, make_repo
from tests.factory.fleet import cluster as postgres
from tests.factory.fleet.counting_model import CountingServer
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.small_fleet import SmallFleet, order, run_all, small_fleet

_TITLE = "run-all --on fleet: independent orders, workers of one slot"
_OVER_CRITICAL_PATH = 1.35
_SECONDS_OF_AN_ORDER = 1.0
_LEASE_SECONDS = 30.0


def measure_fleet(bench: Bench) -> Section:
    """Return the rows of a plan on one, two and four workers, all of the same commits."""
    if (programs := postgres.programs()) is None:
        missing = Row(_TITLE, None, "s", notes="PostgreSQL is not installed")
        return Section(_TITLE, (missing,))
    with postgres.running_cluster(programs) as cluster:
        return Section(_TITLE, tuple(_rows(bench, cluster)))


def _rows(bench: Bench, cluster: postgres.Cluster) -> Iterator[Row]:
    orders, model, verify = (2, 0.1, 0.2) if bench.quick else (20, 1.0, 2.0)
    name = f"{orders} orders, {model:g} s model, {verify:g} s tests"
    taken = {}
    for workers in (1,) if bench.quick else (1, 2, 4):
        with _fleet(bench, cluster, model, verify) as fleet:
            taken[workers] = _seconds(fleet, orders, workers)
        path = -(-orders // workers) * (model + verify)
        yield Row(
            name=f"{name}, {workers} workers",
            value=taken[workers],
            unit="s",
            floor=path,
            floor_name="the critical path",
            aim=Aim(factor=_OVER_CRITICAL_PATH) if workers == 4 else None,
        )
    yield Row(
        name="the same: an order on one worker, model and tests not counted",
        value=taken[1] / orders - model - verify,
        unit="s",
        aim=Aim(extra=_SECONDS_OF_AN_ORDER),
    )


@contextmanager
def _fleet(
    bench: Bench, cluster: postgres.Cluster, model: float, verify: float
) -> Iterator[SmallFleet]:
    """Open a fleet without workers, on a database and a repo of its own."""
    from factory.fleet.fleet_admin import initialise

    url = cluster.url(cluster.new_database())
    initialise(url)
    server = CountingServer(lambda branch: frozenset(), model)
    folder = bench.folder("fleet")
    repo = make_repo(folder / "project", 10, f"sleep {verify:g}")
    with small_fleet(url, folder, repo, server) as fleet:
        fleet.lease_seconds = _LEASE_SECONDS
        yield fleet


def _seconds(fleet: SmallFleet, orders: int, workers: int) -> float:
    """Return how long a plan takes, command included, once base and repo are known everywhere."""
    names = [f"worker{number}" for number in range(workers)]
    for name in names:
        fleet.start_worker(name)
    for name in names:
        until(lambda name=name: "takes jobs" in fleet.said_by(name), f"{name} takes jobs")  # type: ignore[misc]
    before = fleet.plan_in("before", *map(order, range(1, workers + 1)))
    _landed(fleet, before, "before")
    plan = fleet.plan(*map(order, range(1, orders + 1)))
    begun = time.perf_counter()
    tip = _landed(fleet, plan, "work")
    seconds = time.perf_counter() - begun
    alone = run_all(fleet, fleet.copy_of_repo(), plan, "--jobs", str(orders))
    assert alone.document["tip"] == tip
    return seconds


def _landed(fleet: SmallFleet, plan: Path, branch: str) -> str:
    said = run_all(fleet, fleet.repo, plan, "--on", "fleet", branch=branch)
    assert said.code == 0, said.err
    return str(said.document["tip"])
