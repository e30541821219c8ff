"""The user switches branches in the very moment of a landing: nothing of theirs is changed."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.errors import CommandFailed
from tests.fakes import proposal
from tests.harness import Factory, blob, fingerprint, git, order

GOOD = proposal({"hello.txt": "hello\n"})
Meanwhile = Callable[..., None]


@pytest.fixture
def just_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Has someone run another git command just before a run's own gets to work."""

    def plan(ours: str, *theirs: object) -> None:
        system_git = shutil.which("git")
        assert system_git is not None
        act = shlex.join([system_git, *map(str, theirs)])
        told = tmp_path / "told"
        script = (
            f'case "$*" in "{ours}"*) test -e {told} || {{ touch {told}; {act}; }} || exit;; esac\n'
            f'exec {system_git} "$@"\n'
        )
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return plan


@pytest.fixture
def checked_out(factory: Factory) -> Factory:
    git(factory.repo, "branch", "other")
    git(factory.repo, "switch", "--quiet", "--create", "work")
    (factory.repo / "note.log").write_text("ignored\n")
    return factory


def test_who_leaves_the_branch_as_it_lands_has_theirs_as_it_was(
    checked_out: Factory, just_before: Meanwhile
) -> None:
    """The other branch stands at the same commit, so git would fast-forward that one instead."""
    repo = checked_out.repo
    before, other = fingerprint(repo), git(repo, "rev-parse", "other")
    just_before("merge", "-C", repo, "switch", "--quiet", "other")
    summary = checked_out.run(order(), [GOOD])
    assert checked_out.tip() == summary.commit != other
    assert git(repo, "rev-parse", "other") == other
    assert git(repo, "symbolic-ref", "--short", "HEAD") == "other"
    assert (git(repo, "status", "--porcelain"), fingerprint(repo)) == ("", before)


def test_who_goes_to_a_branch_that_has_more_stays_there(
    checked_out: Factory, just_before: Meanwhile
) -> None:
    repo = checked_out.repo
    git(repo, "switch", "--quiet", "other")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=more")
    other = git(repo, "rev-parse", "other")
    git(repo, "switch", "--quiet", "work")
    before = fingerprint(repo)
    just_before("merge", "-C", repo, "switch", "--quiet", "other")
    assert checked_out.run(order(), [GOOD]).verdict == "PASS"
    assert git(repo, "rev-parse", "other") == other
    assert (git(repo, "status", "--porcelain"), fingerprint(repo)) == ("", before)


def test_who_comes_to_the_branch_as_it_lands_is_taken_along(
    checked_out: Factory, just_before: Meanwhile
) -> None:
    repo = checked_out.repo
    git(repo, "switch", "--quiet", "other")
    just_before("update-ref --create-reflog", "-C", repo, "switch", "--quiet", "work")
    summary = checked_out.run(order(), [GOOD])
    assert checked_out.tip() == summary.commit == git(repo, "rev-parse", "HEAD")
    assert git(repo, "symbolic-ref", "--short", "HEAD") == "work"
    assert git(repo, "status", "--porcelain") == ""
    assert (repo / "hello.txt").read_text() == "hello\n"


def test_who_moves_the_branch_on_as_it_lands_keeps_what_they_have(
    checked_out: Factory, just_before: Meanwhile
) -> None:
    repo = checked_out.repo
    git(repo, "switch", "--quiet", "--create", "mine")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=mine")
    git(repo, "switch", "--quiet", "work")
    before = fingerprint(repo)
    just_before("merge", "-C", repo, "merge", "--quiet", "--ff-only", "mine")
    with pytest.raises(CommandFailed, match="left as it is") as error:
        checked_out.run(order(), [GOOD])
    assert checked_out.tip() == git(repo, "rev-parse", "mine")
    assert (git(repo, "status", "--porcelain"), fingerprint(repo)) == ("", before)
    kept = error.value.hint.split("`git merge ")[1].split("`")[0]
    assert blob(repo, kept, "hello.txt") == b"hello\n"
