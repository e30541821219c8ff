"""Calls a function at regular intervals in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ticker:
    """Call `act` every `seconds` on a thread of its own, until `close` is called.

    `close` ends the thread and waits for its end. The caller must not hold a lock that `act`
    takes. The thread is a daemon only so that it does not keep a process alive that exits without
    calling `close`.
    """

    def __init__(self, seconds: float, act: Callable[[], None], name: str) -> None:
        self._seconds = seconds
        self._act = act
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; `act` is not called any more once this method has returned."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(self._seconds):
            self._act()
