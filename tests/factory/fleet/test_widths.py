"""Twenty orders on one, two and four workers, each with a home of its own: the same commits."""

from __future__ import annotations

from pathlib import Path

from factory.fleet.status import read_fleet
from shared.settings.values.database import DatabaseUrl
from tests.factory.fleet.fleet_of_processes import until
from tests.factory.fleet.scale import large
from tests.factory.fleet.small_fleet import order, run_all, small_fleet
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


def _taking_jobs(url: DatabaseUrl) -> int:
    return sum(each.lives for each in read_fleet(url).workers)
