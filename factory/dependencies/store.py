"""Keeps what was prepared, so that an equal wish is not prepared again."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

from shared.errors import EnvironmentFault
from shared.work_order.hashing import sha256_bytes


def kept(cache: Path, key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder below `cache` for `key`; `make` fills it the first time.

    `make` gets a path that does not exist. What it left when it failed is removed. Another process
    may ask for the same at the same time, and then waits. Raises `EnvironmentFault` where the disk
    refuses, and what `make` raises.
    """
    folder = cache / sha256_bytes(key.encode())[:24]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = folder / "complete"
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                make(folder)
                done.touch()
    except OSError as error:
        raise EnvironmentFault(
            f"cannot keep the target's dependencies in {cache}: {error.strerror or error}",
            "free space there, or set LLMCH_WORKSPACES to another folder",
        ) from error
    return folder
