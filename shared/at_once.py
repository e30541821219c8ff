"""Two things at a time, where each mostly waits: for git, for the disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def at_once(here: Callable[[], A], beside: Callable[[], B]) -> tuple[A, B]:
    """Run `here`, and `beside` in a thread of its own; return what both return.

    Both are over when this returns or raises, and what `here` raises comes first.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        other = thread.submit(beside)
        return here(), other.result()
