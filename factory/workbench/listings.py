"""Keeps what the trees of the latest commits hold, for all workspaces of a repo."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from shared.git import trees
from shared.git.client import Git

_MOST_LISTINGS: Final = 8


class Listings:
    """Hold what the trees of the latest commits hold, for all workspaces of a repo."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._submodules: dict[str, frozenset[str]] = {}
        self._lock = threading.Lock()

    def files_of(self, git: Git, commit: str) -> frozenset[str]:
        """Return the paths of a commit's files."""
        with self._lock:
            known = self._files.get(commit)
        if known is None:
            known = frozenset(trees.files_of(git, commit))
            self.remember(commit, known)
        return known

    def remember(self, commit: str, files: frozenset[str]) -> None:
        """Record the paths of a commit's files; the oldest ones are forgotten."""
        with self._lock:
            self._files[commit] = files
            if len(self._files) > _MOST_LISTINGS:
                self._files.popitem(last=False)

    def submodules_of(self, git: Git, commit: str) -> frozenset[str]:
        """Return the folders of a commit's submodules."""
        with self._lock:
            if commit not in self._submodules:
                self._submodules = {commit: frozenset(trees.submodules_of(git, commit))}
            return self._submodules[commit]
