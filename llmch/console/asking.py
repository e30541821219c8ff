"""Asks the person at the terminal a yes-or-no question, and finds the terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from llmch.console.stream import Stream


def someone_is_there() -> bool:
    """Return whether a person would see a question and could answer it."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def agrees(question: str) -> bool:
    """Ask the question and return whether the answer is yes; no answer counts as no."""
    Stream(sys.stderr).write(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def has_standard_streams() -> bool:
    """Return whether standard input and output were open when this process began."""
    # Python has `None` for one that was closed.
    return sys.stdin is not None and sys.stdout is not None


def terminal_descriptors() -> tuple[int, int] | None:
    """Return the descriptors of keyboard and screen, `None` where either is not a terminal."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return None
    return sys.stdin.fileno(), sys.stdout.fileno()


def _is_terminal(stream: TextIO | None) -> bool:
    # `sys.stdin` is `None` where the stream was closed before Python started.
    return Stream(stream).isatty()
