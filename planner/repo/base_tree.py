"""Remembers which content each file of a repo has when a plan for it begins."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.repo.tracked import RepoTree
from shared.commands.order_files import order_files
from shared.git import index, repos, trees, worktrees
from shared.git.client import Git
from shared.git.commit_sources import CommitSources
from shared.git.config import without_repo_filters
from shared.work_order.schemas import MAX_LISTED, BaseFile, WorkOrder

_REGULAR = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class BaseTree:
    """Hold the ids of a tree's files in git, by path.

    `changed` are files of a checkout that differ from the commit; what counts is on the disk.
    """

    git: Git
    ids: Mapping[str, str]
    changed: frozenset[str] = field(default=frozenset())

    def base_files(self, orders: Sequence[WorkOrder]) -> tuple[BaseFile, ...]:
        """Return the hashes of the files that `orders` touch or read, where they are in the tree.

        There are at most as many as a manifest can list; the first orders' come first then.
        """
        named = (path for order in orders for path in order_files(order))
        paths = [path for path in dict.fromkeys(named) if path in self.ids][:MAX_LISTED]
        found = dict(self._hashes(paths))
        return tuple(BaseFile(path=path, sha256=found[path]) for path in sorted(found))

    def _hashes(self, paths: Collection[str]) -> Iterator[tuple[str, str]]:
        stored = {path: self.ids[path] for path in paths if path not in self.changed}
        hashes = trees.hashes_of_blobs(self.git, dict.fromkeys(stored.values()))
        for path in paths:
            digest = hashes.get(stored[path]) if path in stored else _hash(self.git.folder / path)
            if digest is not None:
                yield path, digest


def base_tree(tree: RepoTree) -> BaseTree | None:
    """Return the files that a plan for the repo begins with, as they are now; `None` without one.

    Of a checkout, the tracked files count, with their changes.
    """
    if isinstance(tree.files, CommitSources):
        return BaseTree(tree.files.git, tree.files.blobs)
    if tree.root is None:
        return None
    git = Git(tree.root)
    # A filter that only the repo's own config defines is a program of the repo: it does not run.
    git = git.with_config(without_repo_filters(repos.read_config(git)))
    entries = index.all_entries(git)
    ids = {path: each.object_id for path, each in entries.items() if each.mode in _REGULAR}
    return BaseTree(git, ids, frozenset(worktrees.changes(git).changed))


def _hash(file: Path) -> str | None:
    """Return the SHA-256 of a regular file, `None` where it is no such file or cannot be read."""
    if file.parent.resolve() != file.parent:
        return None  # behind a link
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            return hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError:
            return None
