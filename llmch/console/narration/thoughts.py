"""Puts a model's reasoning, which arrives in pieces of any length, together into whole lines.

This module is pure.
"""

from __future__ import annotations

from collections.abc import Callable

_MAX_LINE = 2000  # characters; a longer line is shown as several


class Thoughts:
    """Put pieces together; `protect` makes each whole line fit to be shown."""

    def __init__(self, protect: Callable[[str], str]) -> None:
        self._protect = protect
        self._rest = ""

    def add(self, piece: str) -> list[str]:
        """Return the lines that this piece completes."""
        *whole, self._rest = (self._rest + piece).split("\n")
        lines = self._shown("\n".join(whole))
        return lines + self.end() if len(self._rest) > _MAX_LINE else lines

    def end(self) -> list[str]:
        """Return the lines that are left when the reasoning is over."""
        rest, self._rest = self._rest, ""
        return self._shown(rest)

    def _shown(self, text: str) -> list[str]:
        return [line for line in self._protect(text).split("\n") if line.strip()]
