"""Puts a yes-or-no question to a person, where one is there to answer."""

from __future__ import annotations

import sys
from typing import TextIO

from llmch.console.stream import Stream


def someone_is_there() -> bool:
    """Return whether a question would be seen, and could be answered."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def agrees(question: str) -> bool:
    """Ask, and return whether the answer is yes; no answer is a no."""
    Stream(sys.stderr).write(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _is_terminal(stream: TextIO | None) -> bool:
    # Python has `None` in the place of a stream that was closed before it began.
    return Stream(stream).isatty()
