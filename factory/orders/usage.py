"""Holds what model calls took, as every record of the factory spells it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Hold the tokens and the cost of model calls; `cost_usd` is null while a price is unknown."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    replayed_calls: int = 0
