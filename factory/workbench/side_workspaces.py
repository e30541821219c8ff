"""Registers workspaces that no run owns, so that none stays behind when its process is killed.

A run's journal names the workspaces of that run. A command that works beside runs has no journal,
because the journal belongs to whoever holds the repo's lock. It keeps a file of its own in the
repo's git folder instead, which lists its workspaces, and which it locks as long as it lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.record.journal_entries import Entry, WorkspaceOpening
from factory.workbench.workspace import close_workspace, is_root_of, workspace_refused
from shared.git.client import Git
from shared.run_record import new_run_id

_MOST_BYTES = 64 * 1024
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Register:
    """Hold the file that lists the workspaces of one command; `owner` names their folder."""

    owner: str
    descriptor: int

    def record(self, entry: Entry) -> None:
        """Note a workspace that is about to be made, before it is made."""
        if isinstance(entry, WorkspaceOpening):
            os.write(self.descriptor, f"{entry.root}\n".encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def registered(common_dir: Path) -> Iterator[Register]:
    """Register the workspaces that are made while the block runs; all must be closed in it.

    No run is disturbed: the repo's lock is not touched. Raises `CommandFailed` where the git
    folder cannot be written.
    """
    folder = _folder(common_dir)
    owner = new_run_id()
    path = folder / owner
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _create_locked(path)
    except OSError as error:
        raise workspace_refused(path, error) from error
    try:
        yield Register(owner, descriptor)
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def sweep_side_workspaces(git: Git, common_dir: Path) -> None:
    """Remove the workspaces of commands that were killed; those of living ones stay."""
    for path, roots, living in _registers(common_dir):
        if not living:
            for root in roots:
                close_workspace(git, root)
                with contextlib.suppress(OSError):
                    root.parent.parent.rmdir()
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def side_workspaces_in_use(common_dir: Path) -> frozenset[Path]:
    """Return the workspaces that a living command uses at the moment."""
    found = _registers(common_dir)
    return frozenset(root for _, roots, living in found if living for root in roots)


def _folder(common_dir: Path) -> Path:
    return common_dir / "llmch" / "beside"


def _create_locked(path: Path) -> int:
    """Make the file and lock it. A sweep may take it for abandoned before it is locked."""
    while True:
        descriptor = os.open(path, _FLAGS | os.O_CREAT, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            if os.fstat(descriptor).st_ino == path.lstat().st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _registers(common_dir: Path) -> Iterator[tuple[Path, tuple[Path, ...], bool]]:
    """Yield each register with its workspaces, and whether its process lives.

    The lock of one that does not live is held until the next is asked for.
    """
    folder = _folder(common_dir)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            descriptor = os.open(path, _FLAGS | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            living = not _lock(descriptor)
            text = os.pread(descriptor, _MOST_BYTES, 0).decode("utf-8", "surrogateescape")
            roots = (Path(line) for line in text.splitlines())
            yield path, tuple(each for each in roots if is_root_of(path.name, each)), living
        except OSError:
            continue
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
