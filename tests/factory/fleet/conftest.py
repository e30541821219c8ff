"""A PostgreSQL for the tests of the fleet, and a fleet's database for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet import cluster as postgres
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.gate import Gate
from tests.factory.fleet.small_fleet import SmallFleet, small_fleet


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A server for all tests of this process; without PostgreSQL they are skipped."""
    if (programs := postgres.programs()) is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    with postgres.running_cluster(programs) as server:
        yield server


@pytest.fixture(scope="session")
def template(cluster: Cluster) -> str:
    """A fleet's database that was set up once: those of the tests are copies."""
    return postgres.prepared(cluster)


@pytest.fixture
def database(cluster: Cluster, template: str) -> Iterator[str]:
    """A fleet's database of the test's own."""
    name = cluster.new_database(template)
    yield name
    cluster.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def url(cluster: Cluster, database: str) -> DatabaseUrl:
    """The URL of the test's database, as one who may do no more than any worker."""
    return cluster.url(database, "ada")


@pytest.fixture
def fleet(url: DatabaseUrl, tmp_path: Path, repo: Path) -> Iterator[SmallFleet]:
    """The repo with a remote, a model that answers, and no worker yet."""
    with small_fleet(url, tmp_path, repo) as opened:
        yield opened


@pytest.fixture
def gate(tmp_path: Path, repo: Path) -> Gate:
    """A verification of the repo that stops candidates; it is asked for before the fleet."""
    gate = Gate(tmp_path / "gate")
    gate.stand_in(repo)
    return gate
