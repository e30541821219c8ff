"""A branch counts as not checked out only where every HEAD file says so beyond doubt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from factory.landing.land import surely_not_checked_out
from shared.git import repos
from shared.git.client import Git
from tests.harness import git


def test_a_branch_that_no_tree_is_on_is_told(repo: Path) -> None:
    git(repo, "branch", "work")
    assert surely_not_checked_out("work", repo / ".git")


@pytest.mark.parametrize("where", ["here", "linked"])
def test_a_branch_that_a_tree_is_on_is_never_missed(repo: Path, tmp_path: Path, where: str) -> None:
    if where == "here":
        git(repo, "switch", "--quiet", "--create", "work")
    else:
        git(repo, "worktree", "add", "--quiet", "-b", "work", str(tmp_path / "linked"))
    assert not surely_not_checked_out("work", repo / ".git")


def test_detached_trees_are_on_no_branch(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    git(repo, "switch", "--quiet", "--detach")
    assert surely_not_checked_out("main", repo / ".git")
    assert "main" not in [each.branch for each in repos.checkouts(Git(repo))]


def test_a_branch_that_is_not_born_yet_is_checked_out(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "work")
    assert not surely_not_checked_out("work", repo / ".git")


def names_a_stand_in(head: Path) -> None:
    head.write_text("ref: refs/heads/.invalid\n")  # as a repo with reftables has it


def is_a_link(head: Path) -> None:
    head.unlink()
    head.symlink_to("refs/heads/main")


def is_gone(head: Path) -> None:
    head.unlink()


def is_empty(head: Path) -> None:
    head.write_text("")


def is_torn(head: Path) -> None:
    head.write_text("ref: refs/he")


def is_a_folder(head: Path) -> None:
    head.unlink()
    head.mkdir()


def differs_in_case(head: Path) -> None:
    head.write_text("ref: refs/heads/Work\n")


@pytest.mark.parametrize(
    "doubt",
    [names_a_stand_in, is_a_link, is_gone, is_empty, is_torn, is_a_folder, differs_in_case],
    ids=lambda each: each.__name__,
)
@pytest.mark.parametrize("where", ["HEAD", "worktrees/linked/HEAD"])
def test_any_doubt_counts_as_checked_out(
    repo: Path, tmp_path: Path, where: str, doubt: Callable[[Path], None]
) -> None:
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    assert surely_not_checked_out("work", repo / ".git")
    doubt(repo / ".git" / where)
    assert not surely_not_checked_out("work", repo / ".git")
