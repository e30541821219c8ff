"""Renders the usage of a step's model calls for the queue, and reads it again. Pure."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal

from factory.fleet.wire import UsageDocument
from shared.llm.client import Usage
from shared.llm.cost.usage import Tally


def usage_between(before: Tally, after: Tally) -> UsageDocument:
    """Return what was used from the one tally to the other."""
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    old, new = asdict(before.live), asdict(after.live)
    cost = None
    if before.live.cost_usd is not None and after.live.cost_usd is not None:
        cost = str(after.live.cost_usd - before.live.cost_usd)
    return UsageDocument(
        **{name: new[name] - old[name] for name in names},
        cost_usd=cost,
        replayed=after.replayed.calls - before.replayed.calls,
    )


def usage_of(document: UsageDocument) -> Usage:
    """Return the usage of a step's live calls."""
    return Usage(
        document.calls,
        document.input_tokens,
        document.cached_tokens,
        document.output_tokens,
        document.reasoning_tokens,
        None if document.cost_usd is None else Decimal(document.cost_usd),
    )
