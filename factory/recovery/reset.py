"""Ends a repo's unfinished run by force: its working trees and state go, commits stay."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from factory.record.journal import journal_path, read_understood
from factory.record.status import state_path
from factory.recovery.recover import workspaces_of
from factory.repo.lock import hold
from factory.repo.preflight import RepoPlace
from factory.workbench.workspace import close_workspace, workspaces_root


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What of earlier runs is still there."""

    workspaces: tuple[Path, ...]
    state: tuple[Path, ...]

    @property
    def any(self) -> bool:
        return bool(self.workspaces or self.state)


def find_run_leftovers(place: RepoPlace) -> Leftovers:
    """Return what runs have left: working trees below our root, and the files of their state."""
    root = workspaces_root().resolve()
    trees = {
        each.path for each in place.git.checkouts() if each.path.resolve().is_relative_to(root)
    }
    # A journal that cannot be understood is one reason to reset.
    entries = read_understood(journal_path(place.common_dir))
    trees |= {path for path in workspaces_of(entries) if path.exists()}
    files = (journal_path(place.common_dir), state_path(place.common_dir))
    return Leftovers(tuple(sorted(trees)), tuple(path for path in files if path.exists()))


def reset_repo(place: RepoPlace) -> Leftovers:
    """Remove what runs have left and return what that was.

    Raises `Busy` where a run is still going on: it is the user's to end.
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
