"""Holds all calls for a model back while its server asks one of them to wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol


class Pace(Protocol):
    """Keep how long a server wants no call for a model. Safe for threads."""

    def hold(self, model: str, seconds: float) -> None:
        """Hold calls back for `seconds` from now, or longer where that was asked before."""

    def seconds_left(self, model: str) -> float:
        """Return how long a call is to wait; 0 where it may be made now."""


class OwnPace:
    """Keep the pace of this process. `now` gives seconds that never decrease."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def hold(self, model: str, seconds: float) -> None:
        """See `Pace`."""
        with self._lock:
            self._until[model] = max(self._until.get(model, 0.0), self._now() + seconds)

    def seconds_left(self, model: str) -> float:
        """See `Pace`."""
        with self._lock:
            return max(0.0, self._until[model] - self._now()) if model in self._until else 0.0
