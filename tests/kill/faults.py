"""Has the system refuse one of a run's writes, or all from one on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plant(faults: Mapping[str, Any]) -> None:
    """Stand between Python and the system."""
    raise NotImplementedError(faults)
