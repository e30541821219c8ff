"""Takes back a landing that was cut off in the middle, and what git was holding just then."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.commit_facts import NOTES_REF
from factory.preflight import checkout_of
from shared.errors import CommandFailed
from shared.git import Git

_SETTLED_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class HalfLanding:
    """A landing that was begun and whose end is not on record."""

    branch: str
    old: str
    new: str


def undo_half_landing(git: Git, common_dir: Path, landing: HalfLanding) -> None:
    """Bring branch and checkout back to where they were before a landing that did not end.

    Of the user's tree only where each changed file is byte for byte what the landing commit holds:
    then nothing of the user's is in it. Else the tree is left alone, and preflight says that it is
    dirty. Where the branch has moved, the landing was over.
    """
    if not git.branch_name_allowed(landing.branch):
        return
    _remove_stale(common_dir / "refs" / "heads" / f"{landing.branch}.lock")
    _remove_stale(common_dir / f"{NOTES_REF}.lock")
    checkout = checkout_of(landing.branch, git.checkouts())
    if checkout is None or not checkout.path.is_dir():
        return
    place = git.at(checkout.path)
    layout = place.layout()
    if layout is not None:
        _, git_dir, _ = layout
        for name in ("index.lock", "HEAD.lock"):
            _remove_stale(git_dir / name)
    _take_back(place, landing.old, landing.new)


def _take_back(git: Git, old: str, new: str) -> None:
    changes = git.changes(own_tree=True)  # file by file: a new folder is compared by its files
    paths = (*changes.changed, *changes.untracked)
    if not paths or changes.head != old or not all(git.same_as(new, path) for path in paths):
        return
    for path in changes.untracked:
        (git.folder / path).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # up to the first folder that holds something else
            os.removedirs((git.folder / path).parent)
    with contextlib.suppress(CommandFailed):
        git.reset(old)


def _remove_stale(lock: Path) -> None:
    """Remove a lock file that a git which is no more has left behind.

    Our own git holds the repo's lock as long as it runs, so none is left by now. One of the user's
    has its lock file open, or is done with it in a moment.
    """
    try:
        before = lock.stat(follow_symlinks=False)
        time.sleep(max(0.0, _SETTLED_SECONDS - abs(time.time() - before.st_mtime)))
        now = lock.stat(follow_symlinks=False)
    except OSError:
        return
    same = (before.st_ino, before.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)
    if same and (now.st_dev, now.st_ino) not in _open_files():
        with contextlib.suppress(OSError):
            lock.unlink()


def _open_files() -> Iterator[tuple[int, int]]:
    """Yield device and inode of what any process has open, as far as we may see that."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                for descriptor in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        found = descriptor.stat()
                        yield found.st_dev, found.st_ino
