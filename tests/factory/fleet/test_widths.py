"""Twenty orders on one, two and four workers, each with a home of its own: the same commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.fleet.fleet_admin import read_fleet
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet import cluster as postgres
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.namespaces import HUB, git_daemon, inside, machines
from tests.factory.fleet.scale import large
from tests.factory.fleet.small_fleet import AnsweringServer, order, run_all, small_fleet
from tests.harness import git


@large
def test_the_commits_are_those_of_one_process_whatever_the_number_of_workers(
    url: DatabaseUrl, tmp_path: Path, repo: Path
) -> None:
    with small_fleet(url, tmp_path, repo) as fleet:
        plan = fleet.plan(*map(order, range(1, 21)))
        alone = run_all(fleet, fleet.copy_of_repo(), plan)
        assert alone.code == 0, alone.err
        for workers in (1, 2, 4):
            while len(fleet.workers) < workers:
                fleet.start_worker(f"worker{len(fleet.workers)}")
            until(lambda: _taking_jobs(url) == len(fleet.workers), "all workers take jobs")
            said = run_all(fleet, repo, plan, "--on", "fleet", branch=f"on-{workers}")
            assert said.code == 0, said.err
            assert git(repo, "rev-parse", f"on-{workers}") == alone.document["tip"]
        assert fleet.refs_left() == ""


@large
def test_workers_that_share_nothing_but_a_network_make_the_same_commits(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (programs := postgres.programs()) is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    monkeypatch.setenv("OPENAI_API_KEY", "k3y-of-the-tests")  # a server elsewhere wants one
    with (
        machines(4) as (hub, others),
        inside(hub),
        git_daemon(tmp_path) as remotes,
        postgres.running_cluster(programs, HUB) as cluster,
        small_fleet(
            cluster.url(postgres.prepared(cluster), "ada"),
            *(tmp_path, repo, AnsweringServer((), HUB)),
        ) as fleet,
    ):
        plan = fleet.plan(*map(order, range(1, 21)))
        alone = run_all(fleet, fleet.copy_of_repo(), plan)
        git(repo, "remote", "set-url", "origin", f"{remotes}/{fleet.remote.name}")
        for each in others:
            with inside(each):
                fleet.start_worker(each)
        until(lambda: _taking_jobs(fleet.url) == len(others), "all workers take jobs")
        said = run_all(fleet, repo, plan, "--on", "fleet")
        assert said.code == 0, said.err
        assert git(repo, "rev-parse", "work") == alone.document["tip"]
        assert fleet.refs_left() == ""
        for each in others:
            assert "judge" in fleet.said_by(each), "each machine had its part"


def _taking_jobs(url: DatabaseUrl) -> int:
    return sum(each.lives for each in read_fleet(url).workers)
