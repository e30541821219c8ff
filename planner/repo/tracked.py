"""Opens the repo that a plan is for, as it is in the checkout or on a branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput
from shared.events.event import Emit
from shared.events.messages import Noted
from shared.files.repo_sources import RepoSources
from shared.files.tree_sources import TreeSources
from shared.git import index, refs, repos
from shared.git.client import Git
from shared.git.commit_sources import CommitSources
from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.registry import find_projects
from shared.projects.verification import Ground, find_verification


@dataclass(frozen=True, slots=True)
class RepoTree:
    """Hold the files of a repo where a plan begins, and the root of its working tree.

    `projects` are what its manifests say.
    `verification` are the commands that verify the repo where it has no `scripts/verify.sh`. It is
    empty where that script verifies the repo, and where nothing says how it is verified: an order
    may then write the script.
    """

    root: Path | None
    files: TreeSources
    projects: tuple[Project, ...] = ()
    verification: tuple[VerifyCommand, ...] = ()


NO_TREE: Final = RepoTree(None, RepoSources(Path()))


def open_repo(folder: Path) -> Git:
    """Return git at the root of the working tree that `folder` is in.

    Raises `InvalidInput` where `folder` is not a directory in a working tree.
    """
    if not folder.is_dir():
        raise InvalidInput(f"--repo {folder}: no such folder", "name the root of a git repo")
    layout = repos.layout(Git(folder.resolve()))
    if layout is None:
        raise InvalidInput(
            f"--repo {folder}: {folder.resolve()} is not a git working tree",
            "name the root of a git repo, or pass --no-repo to go without one",
        )
    return Git(layout[0])


def open_tree(
    folder: Path, branch: str | None, verify: Sequence[str], emit: Emit, start: str | None = None
) -> RepoTree:
    """Return the files that a plan for the repo at `folder` begins with.

    They are those of the last commit of `branch`. Where no branch is named, or where it does not
    exist yet, they are those of the commit `start`, and without one the files that are tracked in
    the checkout. A branch that does not exist is reported to `emit`. `verify` is the setting of
    that name. Raises `InvalidInput` as `open_repo` does, and where `start` names no commit.
    """
    git = open_repo(folder)
    files = _files_of(git, branch, start, emit)
    projects = find_projects(files)
    return RepoTree(git.folder, files, projects, _known_verification(files, verify, projects))


def _files_of(git: Git, branch: str | None, start: str | None, emit: Emit) -> TreeSources:
    if branch is not None:
        tip = refs.tip_of_branch(git, branch)
        if tip:
            return CommitSources(git, tip)
        place = "the checkout" if start is None else start
        emit(Noted(f"branch {branch!r} does not exist yet: the files of {place} are read"))
    if start is None:
        return RepoSources(git.folder, index.tracked_files(git))
    commit = refs.commit_of(git, start)
    if not commit:
        raise InvalidInput(
            f"{start!r} does not name a commit of {git.folder}",
            "give a full hash, or a unique abbreviation",
        )
    return CommitSources(git, commit)


def _known_verification(
    files: RepoFiles, verify: Sequence[str], projects: tuple[Project, ...]
) -> tuple[VerifyCommand, ...]:
    verification = find_verification(files, verify, projects)
    by_commands = verification.ground in (Ground.SETTING, Ground.MANIFESTS)
    return verification.commands if by_commands else ()
