"""What must not be left half done by Ctrl-C: it comes to its end first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def deferring_signals() -> Iterator[None]:
    """Have Ctrl-C and SIGTERM wait for the end of the block, and take effect then.

    Only handlers of Python's are made to wait; what the system does by itself it still does. In
    any other thread than the main one no signal is handled, so there is nothing to do.
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
