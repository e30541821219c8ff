"""Names the files that a command writes for a CI system, and refuses a bad one before any work."""

from __future__ import annotations

import os
from pathlib import Path

from shared.errors import InvalidInput
from shared.files.atomic_io import write_text
from shared.files.text_input import read_regular_file

_HEAD_BYTES = 500  # a report shows what it is within these


def place_for_report(flag: str, path: Path, mark: str) -> Path:
    """Return where a report may be written: a new file, or one that such a report is in already.

    `mark` is a text that each such report has in its head. Raises `InvalidInput` where anything
    else is there, or nothing can be written.
    """
    path = path.absolute()
    if path.is_dir():
        raise InvalidInput(f"{flag} {path} is a directory", "name a file in it")
    if not path.parent.is_dir():
        raise InvalidInput(
            f"{flag} {path}: the folder {path.parent} is not there", "create it, or name another"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InvalidInput(
            f"{flag} {path}: the folder {path.parent} cannot be written", "name another folder"
        )
    if os.path.lexists(path) and not _is_report(path, flag, mark):
        raise InvalidInput(
            f"{flag} {path} would overwrite a file that is not such a report of llmch",
            "name another file, or remove this one",
        )
    return path


def write_report(path: Path, text: str) -> None:
    """Write a report whole, without any secret of the environment."""
    write_text(path, text, sync=False)


def _is_report(path: Path, flag: str, mark: str) -> bool:
    head = read_regular_file(path, f"file of {flag}", _HEAD_BYTES)
    is_empty = head.data.strip() in (b"", b"[]")
    return is_empty or mark.encode() in head.data
