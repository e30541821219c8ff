from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.interfaces.checker import TypeChecker
from tests.planner.planning import Planner


@pytest.fixture(scope="session")
def checker() -> Iterator[TypeChecker]:
    """Return a type checker that stays warm: its first question takes seconds, others no time."""
    with TypeChecker() as warm:
        yield warm


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    """Plans a spec with a scripted model."""
    return Planner(tmp_path)
