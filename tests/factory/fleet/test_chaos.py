"""SIGKILL of workers and coordinators at random moments: the branch is that of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.chaos import Chaos
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.counting_model import CountingServer, prompts_on_record
from tests.factory.fleet.scale import FIRST_SEED, FULL, KILLS, SEEDS, SEEDS_SUBMITTED, large
from tests.factory.fleet.small_fleet import SmallFleet, order, run_all, small_fleet
from tests.factory.fleet.traces import folders_left, rows_left, unverified, verifying
from tests.harness import git

pytestmark = pytest.mark.rest


_MODEL_SECONDS = 1.0
_VERIFY_SECONDS = 0.5


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """The file in which verifications note the trees that passed."""
    return tmp_path / "verified"


@pytest.fixture
def fleet(
    cluster: Cluster, database: str, url: DatabaseUrl, tmp_path: Path, repo: Path, account: Path
) -> Iterator[SmallFleet]:
    (repo / "scripts" / "verify.sh").write_text(verifying(account, _VERIFY_SECONDS))
    git(repo, "commit", "--quiet", "--all", "--message=verify")

    def on_record(branch: str) -> frozenset[str]:
        return prompts_on_record(cluster, database, branch)

    server = CountingServer(on_record, _MODEL_SECONDS)
    with small_fleet(url, tmp_path, repo, server) as opened:
        yield opened


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_whoever_is_killed_the_plan_lands_as_on_one_machine(
    cluster: Cluster, database: str, fleet: SmallFleet, account: Path, seed: int
) -> None:
    _land_among_kills(cluster, database, fleet, account, seed, submitted=False)


@large
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS_SUBMITTED))
def test_a_submitted_plan_lands_too_whichever_worker_is_killed(
    cluster: Cluster, database: str, fleet: SmallFleet, account: Path, seed: int
) -> None:
    _land_among_kills(cluster, database, fleet, account, seed, submitted=True)


def _land_among_kills(
    cluster: Cluster,
    database: str,
    fleet: SmallFleet,
    account: Path,
    seed: int,
    *,
    submitted: bool,
) -> None:
    random = Random(seed)
    fleet.model.clumsy = frozenset("4")
    plan = fleet.plan(
        *(order(number) for number in (1, 2)),
        order(3, context_files=["1.txt"]),
        *(order(number) for number in range(4, 9 if FULL else 5)),
    )
    alone = run_all(fleet, fleet.copy_of_repo(), plan)
    assert alone.code == 0, alone.err
    model = fleet.model
    assert isinstance(model, CountingServer)
    prompts = set(model.calls)
    machines, slots = random.choice((3, 4)), random.choice((1, 2))
    chaos = Chaos(fleet, plan, random, machines, slots, KILLS, submitted)
    chaos.begin()
    repeated, landed, branch = 0, 0, ""
    while not landed or chaos.kills_left:
        landed += 1
        branch = f"work{landed}"
        model.begin(branch)
        account.write_text("")
        assert chaos.land(branch) == alone.document["tip"]
        assert unverified(fleet, alone.document["tip"], account) == []
        assert set(model.calls) == prompts
        repeated += model.repeated
    chaos.end()
    assert model.needless == []
    # What a killed run left on the remote, the next one removes.
    assert run_all(fleet, fleet.repo, plan, "--on", "fleet", branch=branch).code == 0
    assert fleet.refs_left() == ""
    assert rows_left(cluster, database) == {}
    assert folders_left(fleet) == []
    chaos.tell(f"seed {seed}: {landed} branches, {repeated} calls again")
