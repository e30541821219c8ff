"""Does something again and again in the background, until it is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ticker:
    """Calls `act` every `seconds` on a thread of its own.

    The thread is a daemon only so that a process that dies without closing is not held up by it:
    `close` ends it and waits for its end, and must not be called with a lock that `act` takes.
    """

    def __init__(self, seconds: float, act: Callable[[], None], name: str) -> None:
        self._seconds = seconds
        self._act = act
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; nothing is done any more once this returns."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(self._seconds):
            self._act()
