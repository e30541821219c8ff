"""How the recall of the hints is counted: on a repository with commits whose changes are known."""

from pathlib import Path

import pytest

from benchmarks.recall import changes_of, look_for
from shared.git.client import Git
from tests.harness import commit_all, git

BEFORE = (
    "class Game:\n    def play(self):\n        return 1\n\n    def stop(self):\n        return 2\n"
)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "-b", "main")
    commit_all(tmp_path, {"game.py": BEFORE, "test_game.py": "def test_play(): ...\n"})
    changed = BEFORE.replace("return 1", "return 11")
    (tmp_path / "game.py").write_text(changed + "\n\ndef new():\n    return 3\n")
    (tmp_path / "test_game.py").write_text("def test_play(): pass\n")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "-qm", f"Playing returns what it should\n\n{'Because of this. ' * 6}")
    return tmp_path


def test_definitions_that_a_commit_changed_are_counted_but_not_new_ones_or_tests(
    clone: Path,
) -> None:
    (change,) = changes_of(Git(clone), 5)
    assert change.definitions == (("game.py", "Game.play"),)
    assert change.message.startswith("Playing returns")


@pytest.mark.parametrize(("budget", "named"), [(4_000, 1), (0, 0)])
def test_a_definition_is_found_where_the_hints_show_it(
    clone: Path, budget: int, named: int
) -> None:
    (change,) = changes_of(Git(clone), 5)
    found = look_for(Git(clone), change, budget)
    assert (found.every, found.named, found.signed) == (1, named, named)
