"""Writes files that are not there yet, all of them or none, and leaves alone what is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from shared.errors import CommandFailed, EnvironmentFault
from shared.files.atomic_io import is_disk_full

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_new_files(files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Write each of `files` at whose path there is nothing, and return the paths written.

    Anything at a path, also a link that leads nowhere, stays as it is. Raises `CommandFailed`
    where the system refuses a file; then no file was written.
    """
    written = []
    with ExitStack() as undo:
        for path, text in files.items():
            try:
                is_new = _write_new(path, text.encode())
            except OSError as error:
                raise _refused(path, error) from error
            if is_new:
                written.append(path)
                undo.callback(path.unlink, missing_ok=True)
        undo.pop_all()
    return tuple(written)


def _write_new(path: Path, data: bytes) -> bool:
    """Write a file in one step; return whether it was written."""
    if os.path.lexists(path):
        return False
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        with os.fdopen(os.open(draft, _NEW_FILE, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # somebody else was faster
            os.link(draft, path)  # unlike a rename, never replaces a file
            return True
        return False
    finally:
        draft.unlink(missing_ok=True)


def _refused(path: Path, error: OSError) -> CommandFailed:
    kind = EnvironmentFault if is_disk_full(error) else CommandFailed
    return kind(
        f"cannot write {path}: {error.strerror or error}; nothing was written",
        "check that the folder is there, is writable, and has room",
    )
