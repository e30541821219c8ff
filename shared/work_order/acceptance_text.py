"""Checks the path and the text of an acceptance file, as far as they can be checked alone. Pure."""

from __future__ import annotations

from typing import Final

from shared.files.paths import is_git_path

MAX_ACCEPTANCE_BYTES: Final = 16 * 1024
"""The limit of one file. A test of this length can still be reviewed, and costs 4,000 tokens."""


def check_acceptance_path(path: str) -> str:
    """Return `path`. Raises `ValueError`, which says why, for a path inside git's own folder."""
    if is_git_path(path):
        raise ValueError("belongs to git")
    return path


def check_acceptance_text(text: str) -> str:
    """Return `text`. Raises `ValueError`, which says why, where it cannot be a file of the repo."""
    if not text.strip():
        raise ValueError("is empty: a test has to assert something")
    if "\0" in text:
        raise ValueError("holds a NUL: only text can be written")
    if "\r" in text:
        raise ValueError("has CRLF line ends, which git may store as LF: use LF")
    if (size := len(text.encode())) > MAX_ACCEPTANCE_BYTES:
        raise ValueError(f"has {size:,} bytes, over the limit of {MAX_ACCEPTANCE_BYTES:,}")
    return text
