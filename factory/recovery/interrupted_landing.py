"""Undoes a landing that was cut off in the middle, and removes the locks that git left behind."""

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
from factory.statement.notes import PROOF_REF
from shared.errors import CommandFailed
from shared.git import index, patches, refs, repos, trees, worktrees
from shared.git.client import Git

_SETTLED_SECONDS = 2.0


def undo_half_landing(git: Git, common_dir: Path, landing: LandingBegun) -> None:
    """Restore the branch and its checkout to the state before a landing that did not end.

    The user's tree is changed only if the landing writes every file that differs, and each of these
    files holds only what git had written of it so far, or was restoring. Then no difference is the
    user's own work. Otherwise the tree is left alone, and preflight reports that it is dirty. If
    the branch has moved, the landing was complete and nothing is undone.
    """
    if not refs.branch_name_allowed(git, landing.branch):
        return
    _remove_stale(common_dir / "refs" / "heads" / f"{landing.branch}.lock")
    checkout = checkout_of(landing.branch, worktrees.checkouts(git))
    if checkout is None or not checkout.path.is_dir():
        return
    place = git.at(checkout.path)
    layout = repos.layout(place)
    if layout is not None:
        _, git_dir, _ = layout
        for name in ("HEAD.lock", "ORIG_HEAD.lock"):
            _remove_stale(git_dir / name)
        # Git locks the index while it writes files, and then puts the new index in its place.
        begun = _remove_stale(git_dir / "index.lock")
        _restore_checkout(
            place, landing, torn=bool(begun) or index.has_staged(place, landing.new), begun=begun
        )


def _restore_checkout(git: Git, landing: LandingBegun, *, torn: bool, begun: int) -> None:
    old, new = landing.old, landing.new
    changes = worktrees.changes(git, own_tree=True)  # lists the files of a new folder one by one
    if changes.head != old or not refs.commit_of(git, new):  # a power loss may have destroyed `new`
        return
    files = patches.files_between(git, old, new)
    if begun:
        _remove_new_folders(git.folder, files, begun)
    # Untracked files that the landing does not write are the person's and stay as they are.
    reported = {*changes.changed, *files.intersection(changes.untracked)}
    if not files >= reported:
        return
    added = files.difference(trees.entries_of(git, old, sorted(files)))
    # Git does not report a file that it ignores. If such a file is empty, it may be the user's.
    here = reported | {path for path in added if _size_at(git.folder / path)}
    if not here or not all(_written_by_git(git, path, landing, torn=torn) for path in here):
        return
    for path in sorted(here & added):
        (git.folder / path).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # up to the first folder that holds something else
            os.removedirs((git.folder / path).parent)
    with contextlib.suppress(CommandFailed):
        worktrees.reset(git, old)


def _remove_new_folders(tree: Path, files: Iterable[str], since: int) -> None:
    """Remove those folders of `files` that are empty and changed at or after `since`.

    `since` is in nanoseconds. Git made such folders and had not filled them yet.
    """
    folders = {parent for path in files for parent in Path(path).parents if parent != Path()}
    for folder in sorted((tree / each for each in folders), reverse=True):  # the deepest first
        with contextlib.suppress(OSError):  # a folder that holds something stays
            if folder.resolve() == folder and folder.stat().st_mtime_ns >= since:
                folder.rmdir()


def _size_at(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _written_by_git(git: Git, path: str, landing: LandingBegun, *, torn: bool) -> bool:
    """Return whether the file at `path` has the content of the landing commit.

    With `torn`, the beginning of that content is enough, and so is the beginning of the content
    before the landing. The file may then also be missing, because git removes a file before it
    writes the new one.
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
        return trees.content_of(git, landing.new, path) == written
    contents = (trees.content_of(git, commit, path) for commit in (landing.new, landing.old))
    return any(each is not None and each.startswith(written) for each in contents)


def _remove_stale(lock: Path) -> int:
    """Remove a lock file that a dead git process left behind.

    Return the modification time of the file in nanoseconds; zero if no file was removed.

    No git process of a run can still be using the file, because it would hold the repo's lock. A
    git process of the user has its lock file open, or finishes with the file in a moment.
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
    """Remove stale locks on the refs of the notes, which are written beside a landing."""
    for ref in (NOTES_REF, PROOF_REF):
        _remove_stale(common_dir / f"{ref}.lock")


def forget_half_known_trees(common_dir: Path) -> None:
    """Remove the records of working trees that a killed git was just adding or removing.

    Such a record lacks the file `gitdir`, which says where the tree is. `git worktree prune`
    applies the same rule.
    """
    known = common_dir / "worktrees"
    with contextlib.suppress(OSError):
        for folder in tuple(known.iterdir()):
            if not (folder / "gitdir").exists() and _settled(folder):
                shutil.rmtree(folder)
        known.rmdir()  # as git does after the last record


def _settled(path: Path) -> bool:
    """Return whether `path` stays unchanged; if it changed recently, wait a moment to find out."""
    before = path.stat(follow_symlinks=False)
    time.sleep(max(0.0, _SETTLED_SECONDS - abs(time.time() - before.st_mtime)))
    now = path.stat(follow_symlinks=False)
    return (before.st_ino, before.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)


def _open_files() -> Iterator[tuple[int, int]]:
    """Yield device and inode of each file that a process has open, if this process may see it."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                for descriptor in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        found = descriptor.stat()
                        yield found.st_dev, found.st_ino
