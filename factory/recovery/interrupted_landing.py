"""Takes back a landing that was cut off in the middle, and what git was holding just then."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from factory.orders.identity import NOTES_REF
from factory.record.journal_entries import LandingBegun
from factory.repo.preflight import checkout_of
from shared.errors import CommandFailed
from shared.git.client import Git

_SETTLED_SECONDS = 2.0


def undo_half_landing(git: Git, common_dir: Path, landing: LandingBegun) -> None:
    """Bring branch and checkout back to where they were before a landing that did not end.

    The user's tree is touched only where each changed file was landing, and holds what git had
    written of it so far, or was taking back: then nothing in it is the user's own. Otherwise the
    tree is left alone, and preflight reports that it is dirty. Where the branch has moved, the
    landing was complete.
    """
    if not git.branch_name_allowed(landing.branch):
        return
    _remove_stale(common_dir / "refs" / "heads" / f"{landing.branch}.lock")
    checkout = checkout_of(landing.branch, git.checkouts())
    if checkout is None or not checkout.path.is_dir():
        return
    place = git.at(checkout.path)
    layout = place.layout()
    if layout is not None:
        _, git_dir, _ = layout
        for name in ("HEAD.lock", "ORIG_HEAD.lock"):
            _remove_stale(git_dir / name)
        # Git has the index locked as long as it writes files, and puts the new one in place then.
        begun = _remove_stale(git_dir / "index.lock")
        _take_back(place, landing, torn=bool(begun) or place.has_staged(landing.new), begun=begun)


def _take_back(git: Git, landing: LandingBegun, *, torn: bool, begun: int) -> None:
    old, new = landing.old, landing.new
    changes = git.changes(own_tree=True)  # file by file: a new folder is compared by its files
    if changes.head != old or not git.commit_of(new):  # which a power loss may have taken
        return
    files = git.files_between(old, new)
    if begun:
        _remove_new_folders(git.folder, files, begun)
    told = {*changes.changed, *changes.untracked}
    if not files >= told:
        return
    added = files.difference(git.entries_of(old, sorted(files)))
    # What git ignores is not told: one that is empty may as well be the user's.
    here = told | {path for path in added if _size_at(git.folder / path)}
    if not here or not all(_is_gits(git, path, landing, torn=torn) for path in here):
        return
    for path in sorted(here & added):
        (git.folder / path).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # up to the first folder that holds something else
            os.removedirs((git.folder / path).parent)
    with contextlib.suppress(CommandFailed):
        git.reset(old)


def _remove_new_folders(tree: Path, files: Iterable[str], since: int) -> None:
    """Remove the folders of `files` that git had made by then and not come to fill."""
    folders = {parent for path in files for parent in Path(path).parents if parent != Path()}
    for folder in sorted((tree / each for each in folders), reverse=True):  # the deepest first
        with contextlib.suppress(OSError):  # one that holds something stays
            if folder.resolve() == folder and folder.stat().st_mtime_ns >= since:
                folder.rmdir()


def _size_at(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _is_gits(git: Git, path: str, landing: LandingBegun, *, torn: bool) -> bool:
    """Return whether what is at `path` is what the landing commit has there.

    With `torn`, the start of it will do, or of what was there before, or nothing at all: git
    removes a file before it writes the new one.
    """
    file = git.folder / path
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return False
        written = file.read_bytes()
    except FileNotFoundError:
        return torn
    except OSError:
        return False
    if not torn:
        return git.content_of(landing.new, path) == written
    contents = (git.content_of(commit, path) for commit in (landing.new, landing.old))
    return any(each is not None and each.startswith(written) for each in contents)


def _remove_stale(lock: Path) -> int:
    """Remove a lock file that a git which is no more has left behind.

    Return when that took the lock, as file systems count it; zero where there was none.

    Our own git holds the repo's lock as long as it runs, so none is left by now. One of the user's
    has its lock file open, or is done with it in a moment.
    """
    try:
        found = lock.stat(follow_symlinks=False)
        if not _settled(lock) or (found.st_dev, found.st_ino) in _open_files():
            return 0
        lock.unlink()
    except OSError:
        return 0
    return found.st_mtime_ns


def unlock_notes(common_dir: Path) -> None:
    """Free the ref of the notes, which are written when a landing is over."""
    _remove_stale(common_dir / f"{NOTES_REF}.lock")


def forget_half_known_trees(common_dir: Path) -> None:
    """Remove what a git that was killed as it added or removed a working tree knew of it.

    Without the file that says where the tree is there is none, as `git worktree prune` has it.
    """
    known = common_dir / "worktrees"
    with contextlib.suppress(OSError):
        for folder in tuple(known.iterdir()):
            if not (folder / "gitdir").exists() and _settled(folder):
                shutil.rmtree(folder)
        known.rmdir()  # as git does with the last one


def _settled(path: Path) -> bool:
    """Wait for a moment and return whether nothing has changed there meanwhile, if it is recent."""
    before = path.stat(follow_symlinks=False)
    time.sleep(max(0.0, _SETTLED_SECONDS - abs(time.time() - before.st_mtime)))
    now = path.stat(follow_symlinks=False)
    return (before.st_ino, before.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)


def _open_files() -> Iterator[tuple[int, int]]:
    """Yield device and inode of what any process has open, as far as we may see that."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                for descriptor in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        found = descriptor.stat()
                        yield found.st_dev, found.st_ino
