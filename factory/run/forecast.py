"""Foresees what executing a plan costs, before anybody pays for it. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from factory.orders.ladder import Rung, parse_ladder, rung_for_attempt
from factory.run.order_sizes import OrderSize
from factory.run.past_usage import PastUsage
from shared.llm.client import Usage
from shared.llm.cost.estimates import DEFAULT_OUTPUT_LIMIT, total_tokens
from shared.llm.cost.usage import priced
from shared.llm.cost.windows import window_of
from shared.settings.settings import Settings

# A prompt that asks again is at most this much longer than the first.
_RETRY_GROWTH = 1.6

# The first question of an attempt, and at most two more where a reply is empty.
QUESTIONS = 3

# Without any record, every second order is taken to need a second call.
_ASSUMED_CALLS = 1.5


@dataclass(frozen=True, slots=True)
class Forecast:
    """Hold what executing a plan takes: probably, and at most.

    `orders` are those that a model is asked for; an order that only removes files takes nothing.
    Costs are `None` where a price is unknown. `past` holds the earlier runs that the expectation
    is made from; without them it is an assumption. The worst case leaves out replies that break
    off on their way, and orders that are made a second time on a newer state.
    """

    orders: int
    attempts: int
    models: tuple[str, ...]
    expected: Usage
    worst: Usage
    calls_per_order: float
    past: PastUsage | None


def foresee(
    sizes: Sequence[OrderSize], settings: Settings, past: PastUsage | None = None
) -> Forecast:
    """Return the forecast for orders of these sizes.

    Those that ask no model are left out.
    The worst case has the price of the most expensive model, because a model of the ladder may be
    asked sooner than its attempt.
    """
    sizes = [each for each in sizes if each.asks_model]
    ladder = parse_ladder(",".join(settings.factory.ladder))
    most_calls = float(settings.factory_attempts * QUESTIONS)
    calls = min(most_calls, max(1.0, past.calls_per_order)) if past else _ASSUMED_CALLS
    models = tuple(rung.model for rung in ladder)
    return Forecast(
        orders=len(sizes),
        attempts=settings.factory_attempts,
        models=models,
        expected=_expected(sizes, ladder, settings, calls, past),
        worst=_dearest([_worst(sizes, model, settings) for model in models]),
        calls_per_order=calls,
        past=past,
    )


def _expected(
    sizes: Sequence[OrderSize],
    ladder: Sequence[Rung],
    settings: Settings,
    calls: float,
    past: PastUsage | None,
) -> Usage:
    """Return the probable usage where an order takes so many calls, each at its model's price."""
    attempts = settings.factory_attempts
    room = settings.factory.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    replies = sum(min(room, past.reply_tokens if past else each.reply) for each in sizes)
    total = Usage()
    for number in range(1, math.ceil(calls) + 1):
        share = min(1.0, calls - (number - 1))
        growth = 1.0 if number == 1 else _RETRY_GROWTH
        usage = Usage(
            calls=math.ceil(share * len(sizes)),
            input_tokens=math.ceil(share * growth * sum(each.prompt for each in sizes)),
            output_tokens=math.ceil(share * replies),
        )
        model = ladder[rung_for_attempt(ladder, min(number, attempts), attempts)].model
        total += priced(model, usage, settings.prices)
    return total


def _worst(sizes: Sequence[OrderSize], model: str, settings: Settings) -> Usage:
    """Return the most that the orders take if every attempt asks `model` as often as it may."""
    calls = settings.factory_attempts * QUESTIONS
    window = window_of(model, settings.windows)
    reply = settings.factory.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    tokens = 0
    for each in sizes:
        first, again = each.most_prompt, math.ceil(each.most_prompt * _RETRY_GROWTH)
        tokens += _within(first, window) + (calls - 1) * _within(again, window)
    usage = Usage(
        calls=calls * len(sizes),
        input_tokens=tokens,
        output_tokens=calls * len(sizes) * _within(reply, window),
    )
    return priced(model, usage, settings.prices)


def _within(tokens: int, window: int | None) -> int:
    return tokens if window is None else min(tokens, window)


def _dearest(bounds: Sequence[Usage]) -> Usage:
    """Return the usage with the most tokens, at the highest cost; unknown where one cost is."""
    costs = [bound.cost_usd for bound in bounds if bound.cost_usd is not None]
    known = max(costs) if len(costs) == len(bounds) else None
    return replace(max(bounds, key=total_tokens), cost_usd=known)
