"""Runs two functions at the same time, for work that mostly waits for git or the disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(here: Callable[[], A], beside: Callable[[], B]) -> tuple[A, B]:
    """Run `here`, and `beside` in another thread; return the results of both.

    Both have ended when `side_by_side` returns or raises. If both raise, the exception of `here`
    is raised.
    """
    other = _threads().submit(beside)
    try:
        result = here()
    finally:
        wait((other,))
    return result, other.result()


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the pool of threads, which is kept.

    Starting a thread takes as long as some of the functions that it would run. Each caller needs
    one thread.
    """
    return ThreadPoolExecutor(max_workers=_MOST_AT_ONCE, thread_name_prefix="side by side")


_MOST_AT_ONCE = 64
