"""The run's own working tree: opened outside the repo, reset between attempts, committed from.

The user's checkout is never the workbench: nothing here writes to it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from factory.tree import Tree
from shared.atomic_io import make_folder
from shared.git import CommitFacts, Git


@dataclass(slots=True)
class Workspace:
    """A detached working tree and the commit that an attempt starts from.

    `private` is a folder beside the tree for the commands' temporary files.
    """

    repo: Git
    root: Path
    private: Path
    baseline: str

    @property
    def git(self) -> Git:
        return self.repo.at(self.root)

    @property
    def tree(self) -> Tree:
        return Tree(self.root)

    def reset(self) -> None:
        """Make the tree exactly the baseline again, whatever commands left in it."""
        self.git.restore(self.baseline)

    def commit(self, tree: str, facts: CommitFacts) -> str:
        """Return the id of a commit of `tree` on the baseline.

        No ref moves: the commit lands, or is forgotten, later.
        """
        return self.git.write_commit(tree, self.baseline, facts)

    def drift(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return what differs from the baseline outside `paths`, ignored files left out."""
        changes = self.git.changes(own_tree=True)
        return tuple(sorted({*changes.changed, *changes.untracked}.difference(paths)))

    def advance(self, commit: str) -> None:
        """Take a commit made here as the baseline of what comes next; leftovers go."""
        self.baseline = commit
        self.git.restore(commit)


def open_workspace(repo: Git, root: Path, commit: str) -> Workspace:
    """Check `commit` out into a new tree at `root`, whose parent folder is the run's own."""
    make_folder(root.parent.parent)
    root.parent.mkdir(mode=0o700, exist_ok=True)
    private = root.parent / "private"
    private.mkdir(mode=0o700, exist_ok=True)
    repo.open_worktree(root, commit)
    return Workspace(repo, root, private, commit)


def close_workspace(repo: Git, root: Path) -> None:
    """Remove the tree at `root` with all that lies beside it; fine where it is gone already.

    Commits made in it stay in the repo's object store.
    """
    repo.remove_worktree(root)
    shutil.rmtree(root.parent, ignore_errors=True)


def workspaces_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds all workspaces: `LLMCH_WORKSPACES`, else the user's cache."""
    given = environ.get("LLMCH_WORKSPACES", "")
    cache = environ.get("XDG_CACHE_HOME", "")
    home = environ.get("HOME", "")
    if given:
        return Path(given).absolute()
    if Path(cache).is_absolute():
        return Path(cache) / "llmch" / "workspaces"
    if home and os.access(home, os.W_OK):
        return Path(home) / ".cache" / "llmch" / "workspaces"
    return Path(tempfile.gettempdir()) / f"llmch-{os.getuid()}" / "workspaces"
