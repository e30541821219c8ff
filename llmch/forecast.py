"""What running a plan can come to, told before anybody pays for it. Pure.

Orders that are sent back to be made again on a newer state are not foreseen.
"""

from __future__ import annotations

from factory.limits import MAX_CONTEXT_BYTES, MAX_EXCERPT_CHARACTERS
from llmch.console.figures import count
from shared.llm.budget import bound_of
from shared.llm.ladder import parse_ladder
from shared.settings import Settings

# A prompt is the context files, at most this, the order's own text and what failed before.
_ORDER_BYTES = 16_000
_BYTES_PER_TOKEN = 3
_PROMPT_TOKENS = (MAX_CONTEXT_BYTES + _ORDER_BYTES + MAX_EXCERPT_CHARACTERS) // _BYTES_PER_TOKEN


def bound_in_words(orders: int, settings: Settings) -> str:
    """Return the bound of running `orders` orders: calls, tokens, cost where the price is known."""
    role, attempts = settings.factory, settings.factory_attempts
    calls = orders * attempts
    models = [rung.model for rung in parse_ladder(",".join(role.ladder))]
    output = role.max_output_tokens or 0
    bounds = [bound_of(calls, _PROMPT_TOKENS, output, model, settings.prices) for model in models]
    costs = [bound.cost_usd for bound in bounds]
    tokens = bounds[0].input_tokens + bounds[0].output_tokens
    known = [cost for cost in costs if cost is not None]
    cost = f"${max(known):.2f}" if len(known) == len(costs) else "cost unknown"
    return (
        f"running it takes up to {count(calls, 'call')} "
        f"({count(orders, 'order')} x {count(attempts, 'attempt')}), "
        f"{tokens:,} tokens, {cost} with {', '.join(models)}; --max-tokens and --max-cost cap it"
    )
