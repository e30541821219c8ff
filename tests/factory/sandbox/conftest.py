from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from sandbox_arena import Arena, Driver, User, python_for, sources_for_everyone

from factory.sandbox import Backend


@pytest.fixture(scope="session")
def new_driver() -> Iterator[Callable[[User], Driver]]:
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
def driver_of(new_driver: Callable[[User], Driver]) -> Callable[[User], Driver]:
    """The one driver of a user that the tests share."""
    drivers: dict[User, Driver] = {}

    def get(user: User) -> Driver:
        if user not in drivers:
            drivers[user] = new_driver(user)
        return drivers[user]

    return get


@pytest.fixture(params=list(User))
def user(request: pytest.FixtureRequest) -> User:
    return request.param


@pytest.fixture(params=[Backend.BWRAP, Backend.LANDLOCK])
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def arena(backend: Backend, user: User, driver_of: Callable[[User], Driver]) -> Iterator[Arena]:
    """A fresh arena on each backend as each user; a backend that is missing is named."""
    arena = Arena(driver_of(user), backend)
    try:
        refused = arena.open().get("refused")
        if refused:
            pytest.skip(f"{backend} as {user}: {refused}")
        yield arena
    finally:
        arena.close()
