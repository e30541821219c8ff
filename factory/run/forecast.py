"""Bounds what executing a plan can cost, before anybody pays for it. Pure.

The bound leaves out orders that are made a second time, on a newer state.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from factory.orders.ladder import parse_ladder
from factory.orders.limits import MAX_CONTEXT_BYTES, MAX_EXCERPT_CHARACTERS
from shared.llm.cost.budget import bound_of
from shared.settings.settings import Settings

# A prompt holds context files up to this limit, the order's own text and the last failure.
_ORDER_BYTES = 16_000
_BYTES_PER_TOKEN = 3
_PROMPT_TOKENS = (MAX_CONTEXT_BYTES + _ORDER_BYTES + MAX_EXCERPT_CHARACTERS) // _BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class Forecast:
    """Hold the most that executing a plan takes; the cost is `None` where a price is unknown."""

    orders: int
    attempts: int
    tokens: int
    cost_usd: Decimal | None
    models: tuple[str, ...]

    @property
    def calls(self) -> int:
        """Return the number of calls where every attempt of every order is needed."""
        return self.orders * self.attempts


def forecast(orders: int, settings: Settings) -> Forecast:
    """Return the bound for `orders` orders, at the price of the most expensive model."""
    role, attempts = settings.factory, settings.factory_attempts
    models = tuple(rung.model for rung in parse_ladder(",".join(role.ladder)))
    calls, output = orders * attempts, role.max_output_tokens or 0
    bounds = [bound_of(calls, _PROMPT_TOKENS, output, model, settings.prices) for model in models]
    known = [bound.cost_usd for bound in bounds if bound.cost_usd is not None]
    return Forecast(
        orders=orders,
        attempts=attempts,
        tokens=bounds[0].input_tokens + bounds[0].output_tokens,
        cost_usd=max(known) if len(known) == len(bounds) else None,
        models=models,
    )
