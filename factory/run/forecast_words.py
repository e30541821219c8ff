"""Puts a forecast into words, and into the document of `--json`. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import TypedDict

from factory.run.forecast import QUESTIONS, Forecast
from shared.llm.client import Usage
from shared.llm.cost.estimates import total_tokens


class UsageForeseen(TypedDict):
    """Represent foreseen usage; `cost_usd` is null where a price is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class ForecastDocument(TypedDict):
    """Represent a forecast in a `--json` document.

    `past_orders` counts the orders of earlier runs that the expectation is made from; with 0 it is
    assumed.
    """

    orders: int
    attempts: int
    models: list[str]
    expected: UsageForeseen
    worst_case: UsageForeseen
    calls_per_order: float
    past_orders: int


def forecast_document(forecast: Forecast) -> ForecastDocument:
    """Return the forecast as plain values."""
    return {
        "orders": forecast.orders,
        "attempts": forecast.attempts,
        "models": list(forecast.models),
        "expected": _usage_document(forecast.expected),
        "worst_case": _usage_document(forecast.worst),
        "calls_per_order": round(forecast.calls_per_order, 2),
        "past_orders": forecast.past.orders if forecast.past else 0,
    }


def forecast_lines(forecast: Forecast, what: str = "the plan") -> tuple[str, ...]:
    """Return what running `what` probably takes, and what it takes at most: a line each."""
    if not forecast.orders:
        return (f"cost of running {what}: none, because no model is asked",)
    models, rate = ", ".join(forecast.models), f"{forecast.calls_per_order:.1f} calls an order"
    basis = (
        f"{rate}, as in {_count(forecast.past.orders, 'order')} of earlier runs"
        if forecast.past
        else f"assumed: {rate} and files of usual size, as no earlier run of this repo with "
        f"{forecast.models[0]} is on record"
    )
    times = f"{_count(forecast.orders, 'order')} x {_count(forecast.attempts, 'attempt')}"
    return (
        f"expected cost of running {what}: {_figures(forecast.expected)} with {models} ({basis})",
        f"worst case: {_figures(forecast.worst)} ({times} x {QUESTIONS} questions; broken replies "
        "and orders made again come on top); --max-tokens and --max-cost cap it",
    )


def _figures(usage: Usage) -> str:
    calls, tokens = _count(usage.calls, "call"), total_tokens(usage)
    return f"{calls}, {tokens:,} tokens, {_dollars(usage.cost_usd)}"


def _dollars(cost: Decimal | None) -> str:
    if cost is None:
        return "cost unknown"
    return f"${cost:.2f}" if cost == 0 or cost >= Decimal("0.1") else f"${cost:.4f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _usage_document(usage: Usage) -> UsageForeseen:
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": None if usage.cost_usd is None else float(usage.cost_usd),
    }
