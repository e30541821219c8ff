from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from factory.sandbox.policy import Backend
from tests.factory.sandbox import homes
from tests.factory.sandbox.sandbox_arena import (
    Arena,
    Driver,
    User,
    opened_arena,
    python_for,
    sources_for_everyone,
)

DriverOf: TypeAlias = Callable[[User], Driver]


@pytest.fixture(scope="session")
def new_driver() -> Iterator[DriverOf]:
    """Starts drivers; a test that cannot have one as this user is skipped with the reason."""
    started: list[Driver] = []
    with sources_for_everyone() as sources:

        def start(user: User) -> Driver:
            if user is User.ROOT and os.geteuid() != 0:
                pytest.skip("root: the tests run as an ordinary user")
            python = python_for(user)
            if python is None:
                pytest.skip("ordinary user: no Python 3.11 that `nobody` may execute")
            started.append(Driver(user, python, sources))
            return started[-1]

        yield start
        for driver in started:
            driver.close()


@pytest.fixture(scope="session")
def driver_of(new_driver: DriverOf) -> DriverOf:
    """The one driver of a user that the tests share."""
    drivers: dict[User, Driver] = {}

    def get(user: User) -> Driver:
        if user not in drivers:
            drivers[user] = new_driver(user)
        return drivers[user]

    return get


@pytest.fixture(params=list(User))
def user(request: pytest.FixtureRequest) -> User:
    return User(request.param)


@pytest.fixture(params=[Backend.BWRAP, Backend.LANDLOCK])
def backend(request: pytest.FixtureRequest) -> Backend:
    return Backend(request.param)


@pytest.fixture
def arena(backend: Backend, user: User, driver_of: DriverOf) -> Iterator[Arena]:
    """A fresh arena on each backend as each user; a backend that is missing is named."""
    with opened_arena(backend, user, driver_of(user)) as arena:
        yield arena


@pytest.fixture(params=list(Backend)[1:])
def attacked(request: pytest.FixtureRequest, user: User, driver_of: DriverOf) -> Iterator[Arena]:
    """As `arena`, and one more without any sandbox."""
    with opened_arena(request.param, user, driver_of(user)) as arena:
        yield arena


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    homes.add_secrets(home)
    return home
