"""Holds what a client may do, and finds the files that it names within that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.errors import InvalidInput
from shared.files.paths import is_git_path
from shared.llm.cost.bounds import Budget


@dataclass(frozen=True, slots=True)
class Grant:
    """Hold what the person allowed when the server was started. All paths are absolute and real.

    `budget` is for all calls together. `options` are the person's, for each verb.
    """

    repos: tuple[Path, ...]
    folders: tuple[Path, ...]
    artifacts: Path
    budget: Budget
    options: Mapping[str, tuple[str, ...]]
    read_only: bool
    cwd: Path
    environ: Mapping[str, str]

    def repo(self, name: str | None) -> Path:
        """Return the repo that a client names; without a name, the first.

        Raises `InvalidInput` for a folder that is not one of the repos.
        """
        if name is None:
            return self.repos[0]
        for each in self.repos:
            if name == str(each):
                return each
        raise InvalidInput(f"repo {name!r} is not served here", f"the repos are {self._names()}")

    def readable(self, repo: Path, what: str, name: str) -> Path:
        """Return the path of a file or folder that a client names, links resolved.

        A relative path starts at `repo`. Raises `InvalidInput` for one outside of all repos,
        folders and records, or in a git folder.
        """
        path = _real(repo, name)
        root = _root_of(path, (*self.repos, *self.folders, self.artifacts))
        if root is None or is_git_path(str(path.relative_to(root))):
            raise InvalidInput(
                f"{what} {name!r} is not within what is served here",
                f"it may lie in {self._names(*self.folders, self.artifacts)}",
            )
        return path

    def writable(self, repo: Path, what: str, name: str) -> Path:
        """Return the path of a folder that a client wants written, links resolved.

        Raises `InvalidInput` for one outside of the folders, or inside a repo.
        """
        path = _real(repo, name)
        root = _root_of(path, self.folders)
        inside = _root_of(path, (*self.repos, self.artifacts))
        if root is None or inside is not None or is_git_path(str(path.relative_to(root))):
            places = ", ".join(map(str, self.folders))
            raise InvalidInput(
                f"{what} {name!r} is not in a folder where plans may be saved",
                f"it may lie in {places}, outside of the repos"
                if places
                else "leave it out: the plan is kept with the run's record, and the answer says "
                "where; `llmch mcp --folder DIR` allows a folder",
            )
        return path

    def _names(self, *more: Path) -> str:
        return ", ".join(map(str, (*self.repos, *more)))


def _real(start: Path, name: str) -> Path:
    try:
        return Path(os.path.realpath(start / name))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{name!r} cannot be a path: {error}", "give another path") from error


def _root_of(path: Path, roots: Iterable[Path]) -> Path | None:
    return next((each for each in roots if path.is_relative_to(each)), None)
