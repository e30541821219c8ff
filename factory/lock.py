"""One run at a time per repo, by a lock that the kernel frees when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from shared.errors import Busy, PreflightRefused

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def hold(common_dir: Path) -> Iterator[None]:
    """Hold the repo for as long as the block runs.

    Raises `Busy` with the holder's pid where another run has it.
    """
    folder = common_dir / "llmch"
    try:
        folder.mkdir(exist_ok=True)
        # Not truncated on open: it holds the other run's pid until the lock is ours.
        descriptor = os.open(folder / "lock", _FLAGS, 0o644)
    except OSError as error:
        raise PreflightRefused(
            f"cannot write to {folder}: {error.strerror}", "make the repo's git folder writable"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise Busy(
                f"another run (pid {pid}) is working on this repo",
                "wait for it to end; `llmch status` shows where it stands",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder(common_dir: Path) -> int | None:
    """Return the pid of the run that holds the repo, `None` where none does."""
    try:
        descriptor = os.open(common_dir / "llmch" / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        return int(pid) if pid.isdigit() else 0
    finally:
        os.close(descriptor)
    return None
