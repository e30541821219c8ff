"""Ends a repo's unfinished run by force: removes its working trees and state, keeps commits."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from factory.record.journal import journal_path, read_understood
from factory.record.status import state_path
from factory.recovery.recover import workspaces_of
from factory.repo.lock import hold
from factory.repo.preflight import RepoPlace
from factory.workbench.side_workspaces import side_workspaces_in_use
from factory.workbench.workspace import close_workspace, workspaces_root
from shared.git import worktrees


@dataclass(frozen=True, slots=True)
class Leftovers:
    """List the working trees and the state files that earlier runs left behind."""

    workspaces: tuple[Path, ...]
    state: tuple[Path, ...]

    @property
    def any(self) -> bool:
        return bool(self.workspaces or self.state)


def find_run_leftovers(place: RepoPlace) -> Leftovers:
    """Return what runs left behind: working trees below `workspaces_root`, and state files.

    The working trees also include those that the journal names. Those that `llmch repro` uses at
    the moment are left out.
    """
    root = workspaces_root().resolve()
    trees = {
        each.path
        for each in worktrees.checkouts(place.git)
        if each.path.resolve().is_relative_to(root)
    }
    # Only the readable records count: a journal that cannot be understood is a reason to reset.
    entries = read_understood(journal_path(place.common_dir))
    trees |= {path for path in workspaces_of(entries) if path.exists()}
    trees -= side_workspaces_in_use(place.common_dir)
    files = (journal_path(place.common_dir), state_path(place.common_dir))
    return Leftovers(tuple(sorted(trees)), tuple(path for path in files if path.exists()))


def reset_repo(place: RepoPlace) -> Leftovers:
    """Remove what runs left behind, and return what was removed.

    Raises `Busy` if a run is still in progress: only the user may end that run.
    """
    with hold(place.common_dir):
        found = find_run_leftovers(place)
        for root in found.workspaces:
            close_workspace(place.git, root)
            for folder in (root.parent, root.parent.parent):
                with contextlib.suppress(OSError):
                    folder.rmdir()
        for path in found.state:
            path.unlink(missing_ok=True)
        return found
