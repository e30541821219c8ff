"""Defines what is shown of what the calls of models took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageView:
    """Hold what calls took; a cost of `None` is unknown."""

    calls: int = 0
    replayed: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: UsageView) -> UsageView:
        known = self.cost_usd is not None and other.cost_usd is not None
        return UsageView(
            self.calls + other.calls,
            self.replayed + other.replayed,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """Hold the usage of the calls of one role to one model, and the seconds that they took."""

    role: str
    model: str
    usage: UsageView
    seconds: float
