"""Says in prompts which files an order removes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

REMOVED: Final = "These files are removed by this order, and are gone already."
_MOST_NAMED: Final = 50
"""A model needs no more names; what still uses another file shows when the commands run."""


def name_removed(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths for a list, of which further ones are only counted."""
    more = len(paths) - _MOST_NAMED
    return (*paths[:_MOST_NAMED], *((f"and {more} more",) if more > 0 else ()))
