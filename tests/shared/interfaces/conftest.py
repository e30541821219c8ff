from __future__ import annotations

from collections.abc import Iterator

import pytest

from shared.interfaces.checker import TypeChecker


@pytest.fixture(scope="session")
def checker() -> Iterator[TypeChecker]:
    """Return a type checker that stays warm: its first question takes seconds, others no time."""
    with TypeChecker() as warm:
        yield warm
