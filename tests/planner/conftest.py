from __future__ import annotations

from pathlib import Path

import pytest

from tests.planner.planning import Planner
from tests.warm_checker import checker, warm_checker

__all__ = ["checker", "planner", "warm_checker"]


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    """Plans a spec with a scripted model."""
    return Planner(tmp_path)
