"""Defines how the reading of code or of a file ends where an edit is impossible."""

from __future__ import annotations


class Refused(Exception):
    """Raised where an edit is impossible; `lines` are lines of the file, from 1."""

    def __init__(self, reason: str, *lines: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lines = lines
