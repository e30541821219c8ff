"""Says where a worker keeps its clones, and removes those of workers that were killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from factory.recovery.reset import reset_repo
from factory.repo.preflight import find_repo
from factory.workbench.side_workspaces import sweep_side_workspaces
from factory.workbench.workspace import workspaces_root
from shared.errors import LlmchError
from shared.files.atomic_io import make_folder

PLANS: Final = "plans"
"""The folder, in that of a worker, which has a folder for each plan that the worker coordinates."""

_LOCK: Final = "lock"


def clones_of(worker: str) -> Path:
    """Return the folder of a worker, which is held until the process ends.

    What workers left there that were killed on this machine is removed.
    """
    root = make_folder(workspaces_root().parent / "fleet")
    for each in root.iterdir():
        if each.is_dir() and not each.is_symlink() and _hold(each) is not None:
            _remove(each)
    folder = make_folder(root / worker)
    _hold(folder)
    return folder


def _hold(folder: Path) -> int | None:
    """Return the descriptor that holds a folder; `None` while another process holds it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    return None


def _remove(folder: Path) -> None:
    for git_dir in (*folder.glob("*/*/.git"), *folder.glob(f"{PLANS}/*/*/*/.git")):
        with contextlib.suppress(LlmchError, OSError):
            place = find_repo(git_dir.parent)
            sweep_side_workspaces(place.git, place.common_dir)
            reset_repo(place)  # a coordinator's run has workspaces of its own
    shutil.rmtree(folder, ignore_errors=True)
