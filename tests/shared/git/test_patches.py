"""What commits did to paths, read from git in one call."""

from __future__ import annotations

from pathlib import Path

from shared.git import trees
from shared.git.client import Git
from tests.harness import commit_all, git


def test_each_commit_is_listed_with_what_it_did_to_each_path(repo: Path) -> None:
    first = git(repo, "rev-list", "--max-parents=0", "HEAD")
    odd = "a\tb\n\u00e9.txt"
    commit_all(repo, {"gone.txt": "x\n", "kept.txt": "x\n"})
    (repo / "gone.txt").unlink()
    second = commit_all(repo, {"kept.txt": "y\n", odd: "z\n"})
    empty = commit_all(repo)
    made = trees.made_by(Git(repo), (second, first, empty))
    assert made[second] == {"gone.txt": "D", "kept.txt": "M", odd: "A"}
    assert made[empty] == {}
    assert set(made[first].values()) == {"A"}


def test_no_commit_needs_no_answer(repo: Path) -> None:
    assert trees.made_by(Git(repo), ()) == {}
