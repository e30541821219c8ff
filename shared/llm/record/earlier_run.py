"""Names an earlier run whose replies may be reused. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """Hold the path of an earlier run's transcript.

    `anew` names the orders whose replies in it are not reused: their requests are sent again.
    """

    transcript: Path
    anew: frozenset[str] = frozenset()
