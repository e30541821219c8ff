"""Defers Ctrl-C and SIGTERM until a step that must not be interrupted has ended."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def deferring_signals() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM until the end of the block.

    Only handlers in Python are deferred; the system's default actions still happen at once. Python
    handles signals only in the main thread, so in any other thread there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {each: signal.getsignal(each) for each in _SIGNALS}
    ours = {each: handler for each, handler in before.items() if callable(handler)}
    for each in ours:
        signal.signal(each, wait)
    try:
        yield
    finally:
        for each, handler in ours.items():
            signal.signal(each, handler)
    for number in came[:1]:
        ours[signal.Signals(number)](number, None)
