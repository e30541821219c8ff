"""Decides when a worker looks for jobs. The module does no I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_REST_AFTER_SECONDS: Final = 30.0
_LOOK_WHILE_RESTING_SECONDS: Final = 1.0
# A worker without a free slot sees so soon that it has one.
_WATCH_SLOTS_SECONDS: Final = 0.01
# Nobody waits longer at a time, because a worker may end meanwhile.
_MOST_SECONDS_AT_A_TIME: Final = 0.1


class Turn(NamedTuple):
    """Say how long to wait, and whether to look after that."""

    wait_seconds: float
    looks: bool


@dataclass(slots=True)
class Rhythm:
    """Have a worker look into each queue at the queue's pace, and more slowly without any work.

    Each look is a query, so a fleet that has nothing to do would keep its database busy for
    nothing. A slot that gets free is filled at once. Times are seconds of one clock that does not
    go back.
    """

    pace: Mapping[str, float]
    """The seconds between two looks into a queue, while there is work."""
    _busy_at: float
    _looked_at: dict[str, float] = field(default_factory=dict)
    _full: set[str] = field(default_factory=set)

    def note_work(self, now: float) -> None:
        """Take note that a job begins or ends."""
        self._busy_at = now

    def turn(self, queue: str, now: float, *, full: bool) -> Turn:
        """Return what to do about a queue, of which all slots are taken where it is `full`."""
        if full:
            self._full.add(queue)
            return Turn(_WATCH_SLOTS_SECONDS, looks=False)
        if queue in self._full:
            self._full.remove(queue)
            self._looked_at[queue] = now
            return Turn(0.0, looks=True)
        wait = self._looked_at.get(queue, -math.inf) + self._pause(queue, now) - now
        if wait > _MOST_SECONDS_AT_A_TIME:
            return Turn(_MOST_SECONDS_AT_A_TIME, looks=False)
        wait = max(0.0, wait)
        self._looked_at[queue] = now + wait
        return Turn(wait, looks=True)

    def _pause(self, queue: str, now: float) -> float:
        rests = now - self._busy_at > _REST_AFTER_SECONDS
        return max(self.pace[queue], _LOOK_WHILE_RESTING_SECONDS if rests else 0.0)
