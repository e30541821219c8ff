"""Finds out where `llmch init` writes, and what the files there say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput, PreflightRefused
from shared.files.repo_sources import RepoSources
from shared.git import index, refs, repos
from shared.git.client import Git
from shared.projects.base import Project, VerifyCommand
from shared.projects.verification import find_verification

_MOST_FILES: Final = 5000  # that are looked at in a folder without git
_DEEPEST: Final = 3
_SKIPPED: Final = frozenset({"node_modules", "venv", "target", "build", "dist", "__pycache__"})
_INTERPRETERS: Final = (".venv/bin/python", "venv/bin/python")


class GitState(StrEnum):
    """Say how far a folder is from a repo that orders can be run on."""

    NONE = "none"
    NO_COMMIT = "no commit"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Place:
    """Hold the folder to write to, and what is known of it.

    `root` is absolute: the root of the working tree, or the folder itself where there is no git.
    `verify` is what the files say of how the repo is verified, and `notes` tell a person more in
    sentences. `interpreter` is the Python of a virtual environment, relative to `root`, or "".
    """

    root: Path
    git: GitState
    projects: tuple[Project, ...] = ()
    verify: tuple[VerifyCommand, ...] = ()
    notes: tuple[str, ...] = ()
    interpreter: str = ""

    @property
    def name(self) -> str:
        """Return the product's name: that of the first project which has one, or the folder's."""
        return next((each.name for each in self.projects if each.name), self.root.name)


def look_at(folder: Path) -> Place:
    """Return what is known of `folder`, without changing anything or running any of its code.

    Raises `InvalidInput` where it is not a folder, and `PreflightRefused` inside a bare repo or
    git's own folder.
    """
    if not folder.is_dir():
        raise InvalidInput(f"--repo {folder}: no such folder", "make it first, or name another one")
    git = Git(folder.resolve())
    layout = repos.layout(git)
    if layout is None:
        if repos.is_inside_git(git):
            raise PreflightRefused(
                f"{folder.resolve()} is a bare repo or git's own folder",
                "clone the repo, and run `llmch init` in the clone",
            )
        return _described(git.folder, GitState.NONE, tuple(_files_below(git.folder)))
    git = git.at(layout[0])
    if refs.commit_of(git, "HEAD"):
        return _described(layout[0], GitState.READY, index.tracked_files(git))
    return _described(layout[0], GitState.NO_COMMIT, index.files_not_ignored(git))


def _described(root: Path, git: GitState, files: tuple[str, ...]) -> Place:
    found = find_verification(RepoSources(root, files))
    verify = found.commands if found.is_known else ()
    there = (each for each in _INTERPRETERS if (root / each).is_file())
    return Place(root, git, found.projects, verify, found.notes, next(there, ""))


def _files_below(root: Path) -> Iterator[str]:
    """Yield the first files of a folder that git does not know, relative to it."""
    left = _MOST_FILES
    for folder, folders, names in os.walk(root):
        inner = Path(folder).relative_to(root)
        depth = len(inner.parts)
        folders[:] = [
            each
            for each in folders
            if depth < _DEEPEST and each not in _SKIPPED and not each.startswith(".")
        ]
        for name in names[:left]:
            yield str(inner / name)
        left -= len(names)
        if left <= 0:
            return
