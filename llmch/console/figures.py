"""Renders durations, counts, costs and lists for people. This module is pure."""

from __future__ import annotations

from collections.abc import Sequence

_SHORT_COMMIT = 10  # as many digits as git itself shows in large repos


def duration(seconds: float) -> str:
    """Return seconds as `3.2s`, `1m05s` or `2h03m`."""
    tenths = round(max(seconds, 0.0), 1)
    if tenths < 60:
        return f"{tenths:.1f}s"
    whole = round(tenths)
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"


def ticking(seconds: float) -> str:
    """Return the duration of a wait that still goes on, in whole seconds: `12s` or `1m05s`."""
    whole = int(max(seconds, 0.0))
    return f"{whole}s" if whole < 60 else duration(whole)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def cost(usd: float | None) -> str:
    """Return a cost in dollars; below one dollar it has four decimals, else two."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.4f}" if usd < 1 else f"${usd:,.2f}"


def short(commit: str) -> str:
    """Return the short form of a commit's hash."""
    return commit[:_SHORT_COMMIT]


def listed(items: Sequence[str], limit: int) -> str:
    """Return the items joined by commas; those beyond `limit` are only counted."""
    if len(items) <= limit:
        return ", ".join(items)
    return f"{', '.join(items[:limit])} and {len(items) - limit:,} more"
