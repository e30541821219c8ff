"""Decides how often a worker looks for jobs. The module does no I/O."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

_REST_AFTER_SECONDS: Final = 30.0
_LOOK_WHILE_RESTING_SECONDS: Final = 1.0


@dataclass(slots=True)
class Rhythm:
    """Have a worker look each time while there is work, and once a second after half a minute.

    Each look is a query, so a fleet that has nothing to do would keep its database busy for
    nothing. Times are seconds of one clock that does not go back.
    """

    _busy_at: float
    _looked_at: dict[str, float] = field(default_factory=dict)

    def note_work(self, now: float) -> None:
        """Take note that a job begins or ends."""
        self._busy_at = now

    def looks(self, queue: str, now: float) -> bool:
        """Return whether to look into a queue now."""
        rests = now - self._busy_at > _REST_AFTER_SECONDS
        if rests and now - self._looked_at.get(queue, -math.inf) < _LOOK_WHILE_RESTING_SECONDS:
            return False
        self._looked_at[queue] = now
        return True
