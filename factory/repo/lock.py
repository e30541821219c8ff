"""Lets one run at a time work on a repo, by a lock that the kernel frees when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from shared.errors import Busy, PreflightRefused

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


_PATIENCE_SECONDS = 30.0  # how long to wait for the git process of a killed run to end
_LOOK_EVERY_SECONDS = 0.05


@contextlib.contextmanager
def hold(common_dir: Path) -> Iterator[int]:
    """Lock the repo while the block runs, and yield the lock's file descriptor.

    The lock also lasts as long as a process that inherits the descriptor. So a killed run still
    holds it while one of its git processes runs; `hold` waits for that process. Raises `Busy` with
    the holder's pid if another run holds the lock.
    """
    folder = common_dir / "llmch"
    try:
        folder.mkdir(exist_ok=True)
        # Not truncated on open: the file holds the other run's pid until this run has the lock.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(folder / "lock", flags, 0o644)
    except OSError as error:
        raise PreflightRefused(
            f"cannot write to {folder}: {error.strerror}", "make the repo's git folder writable"
        ) from error
    try:
        _lock(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(descriptor)
            if pid is None or _lives(pid) or time.monotonic() > until:
                raise Busy(
                    f"another run (pid {pid or 'unknown'}) is working on this repo",
                    "wait until that run ends; `llmch status` shows its progress",
                ) from None
        time.sleep(_LOOK_EVERY_SECONDS)


def _pid_in(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def holder(common_dir: Path) -> int | None:
    """Return the pid of the run that holds the repo, 0 if it is unknown, `None` if none does."""
    try:
        descriptor = os.open(common_dir / "llmch" / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid_in(descriptor) or 0
    finally:
        os.close(descriptor)
    return None
