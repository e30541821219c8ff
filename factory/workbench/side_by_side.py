"""Two things at a time, where each mostly waits: for git, for the disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(here: Callable[[], A], beside: Callable[[], B]) -> tuple[A, B]:
    """Run `here`, and `beside` in another thread; return what both return.

    Both are over when this returns or raises, and what `here` raises comes first.
    """
    other = _threads().submit(beside)
    try:
        result = here()
    finally:
        wait((other,))
    return result, other.result()


@cache
def _threads() -> ThreadPoolExecutor:
    """Kept, since starting a thread takes as long as what some of them do. One for each caller."""
    return ThreadPoolExecutor(max_workers=_MOST_AT_ONCE, thread_name_prefix="at once")


_MOST_AT_ONCE = 64
