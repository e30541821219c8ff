"""Lets one process at a time read a small file and write it again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_LOOK_EVERY_SECONDS = 0.01
# A holder needs milliseconds. One that was stopped must not stop all others.
_PATIENCE_SECONDS = 10.0


@contextlib.contextmanager
def exclusively(lock: Path) -> Iterator[None]:
    """Hold the file `lock` while the block runs; it is made where it does not exist.

    The block also runs where the file cannot be made or stays held for ten seconds: what it guards
    has to be whole even then.
    """
    with contextlib.ExitStack() as opened:
        with contextlib.suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            opened.callback(os.close, descriptor)
            _wait_for(descriptor)
        yield


def _wait_for(descriptor: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_EVERY_SECONDS)
    return None
