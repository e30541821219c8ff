"""`make test-changed` finds the tests that a change can break."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.changed as changed_module
from tests.changed import reach, sources

TEXTS = {
    "shared/low.py": "",
    "shared/middle.py": "def late():\n    from shared import low\n",
    "shared/by_name.py": "NAME = 'shared.middle'\n",
    "tests/shared/test_low.py": "import shared.low\n",
    "tests/shared/test_middle.py": "from shared.middle import late\n",
    "tests/shared/test_by_name.py": "from shared.by_name import NAME\n",
    "tests/shared/conftest.py": "import shared.low\n",
    "tests/test_other.py": "import json\n",
}


def reached_by(*changed: str) -> set[str]:
    return {each for each in reach(changed, TEXTS) if "test_" in each}


def test_imports_at_any_depth_and_names_of_modules_are_followed() -> None:
    every = {f"tests/shared/test_{name}.py" for name in ("low", "middle", "by_name")}
    assert reached_by("shared/low.py") == every
    assert reached_by("shared/middle.py") == every - {"tests/shared/test_low.py"}


def test_a_conftest_reaches_the_tests_below_it() -> None:
    assert len(reached_by("tests/shared/conftest.py")) == 3
    assert "tests/test_other.py" not in reached_by("tests/shared/conftest.py")


def test_data_reach_what_stands_beside_them() -> None:
    assert reached_by("tests/words.json") == {"tests/test_other.py"}
    assert reached_by("docs/words.md") == set()


@pytest.mark.rest
def test_this_test_is_reached_from_what_it_tests() -> None:
    path = Path(changed_module.__file__).relative_to(changed_module.ROOT).as_posix()
    assert "tests/test_changed.py" in reach([path], sources())
