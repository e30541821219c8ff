"""A model's reasoning as whole lines, though it arrives in pieces of any length. Pure."""

from __future__ import annotations

from collections.abc import Callable

_MAX_LINE = 2000  # characters; a longer line is shown as several


class Thoughts:
    """Puts pieces together; `protect` makes a text fit to be shown, once it is whole."""

    def __init__(self, protect: Callable[[str], str]) -> None:
        self._protect = protect
        self._rest = ""

    def add(self, piece: str) -> list[str]:
        """Return the lines that this piece completes."""
        *whole, self._rest = (self._rest + piece).split("\n")
        lines = self._shown("\n".join(whole))
        return lines + self.end() if len(self._rest) > _MAX_LINE else lines

    def end(self) -> list[str]:
        """Return what is left, the reasoning being over."""
        rest, self._rest = self._rest, ""
        return self._shown(rest)

    def _shown(self, text: str) -> list[str]:
        return [line for line in self._protect(text).split("\n") if line.strip()]
