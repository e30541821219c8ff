"""Defines the printers, which show lines and the work under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from llmch.console.line import Line

if TYPE_CHECKING:
    from shared.events.event import Event


class Printer(Protocol):
    """Show lines, and the work under way."""

    def show(self, lines: Sequence[Line]) -> None:
        """Show the lines, as one piece."""

    def log(self, lines: Sequence[Line]) -> None:
        """Show the lines as `show` does; they say what has just happened."""

    def follow(self, event: Event) -> None:
        """Apply an event, which may change the work under way, to the display."""

    def close(self) -> None:
        """End the printer's work in the background."""


class OnDemand:
    """Open a printer when it is first used: the modules for a terminal take time to import."""

    def __init__(self, open_printer: Callable[[], Printer]) -> None:
        self._open = open_printer
        self._printer: Printer | None = None

    def show(self, lines: Sequence[Line]) -> None:
        """Show the lines, if there are any."""
        if lines:
            self._opened().show(lines)

    def log(self, lines: Sequence[Line]) -> None:
        """Show the lines, if there are any."""
        if lines:
            self._opened().log(lines)

    def follow(self, event: Event) -> None:
        """Pass the event on."""
        self._opened().follow(event)

    def close(self) -> None:
        """Close the printer if it was ever opened."""
        if self._printer is not None:
            self._printer.close()

    def _opened(self) -> Printer:
        if self._printer is None:
            self._printer = self._open()
        return self._printer
