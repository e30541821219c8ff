"""Decides how much of a text or a list is shown. This module is pure."""

from __future__ import annotations

from dataclasses import dataclass

from llmch.console.clean import shorten
from llmch.console.figures import listed

MAX_REPEATED = 100  # characters of a command that an earlier line showed in full
_MAX_COMMAND = 300  # characters; the records have the whole command
_MAX_FILES = 6


@dataclass(frozen=True, slots=True)
class Measure:
    """Cut texts and lists to a length that a person reads; with `verbose`, cut nothing."""

    verbose: bool

    def limit(self, most: int) -> int | None:
        """Return how many items of a list are shown; `None` for all of them."""
        return None if self.verbose else most

    def command(self, command: str, most: int = _MAX_COMMAND) -> str:
        """Return a command, or its beginning."""
        return command if self.verbose else shorten(command, most)

    def files(self, files: tuple[str, ...]) -> str:
        """Return the names of files, or of the first ones."""
        return listed(files, len(files) if self.verbose else _MAX_FILES)


def attempt_text(attempt: int, most: int) -> str:
    """Return `2 of 5`; the number alone where the limit is unknown or was passed."""
    return f"{attempt} of {most}" if attempt <= most else str(attempt)
