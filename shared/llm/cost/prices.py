"""Prices models by one table, which the user's configuration can extend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from shared.llm.client import Usage

T = TypeVar("T")

_PER_MILLION = Decimal(1_000_000)
_SNAPSHOT_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True)
class Price:
    """Hold prices in US dollars per million tokens.

    `cached_input` is the price of input that the server reads from its cache. Reasoning tokens are
    part of the output and are billed as output.
    """

    input: Decimal
    cached_input: Decimal
    output: Decimal


Prices = Mapping[str, Price]


def _price(input_usd: str, cached_input_usd: str, output_usd: str) -> Price:
    return Price(Decimal(input_usd), Decimal(cached_input_usd), Decimal(output_usd))


# OpenAI's list prices of May 2026 for standard processing (of prompts under 270,000 tokens, for
# the 5.4 family). Prices change, so the prices in the configuration win.
KNOWN_PRICES: Prices = {
    "gpt-4.1": _price("2.00", "0.50", "8.00"),
    "gpt-4.1-mini": _price("0.40", "0.10", "1.60"),
    "gpt-4.1-nano": _price("0.10", "0.025", "0.40"),
    "gpt-4o": _price("2.50", "1.25", "10.00"),
    "gpt-4o-mini": _price("0.15", "0.075", "0.60"),
    "gpt-5": _price("1.25", "0.125", "10.00"),
    "gpt-5-codex": _price("1.25", "0.125", "10.00"),
    "gpt-5-mini": _price("0.25", "0.025", "2.00"),
    "gpt-5-nano": _price("0.05", "0.005", "0.40"),
    "gpt-5.1": _price("1.25", "0.125", "10.00"),
    "gpt-5.2": _price("1.75", "0.175", "14.00"),
    "gpt-5.2-codex": _price("1.75", "0.175", "14.00"),
    "gpt-5.3-codex": _price("1.75", "0.175", "14.00"),
    "gpt-5.4": _price("2.50", "0.25", "15.00"),
    "gpt-5.4-mini": _price("0.75", "0.075", "4.50"),
    "gpt-5.4-nano": _price("0.20", "0.02", "1.25"),
    "gpt-5.5": _price("5.00", "0.50", "30.00"),
    "o3": _price("2.00", "0.50", "8.00"),
    "o4-mini": _price("1.10", "0.275", "4.40"),
}


def by_model(model: str, table: Mapping[str, T]) -> T | None:
    """Return the entry of `model`, or `None`. A dated snapshot has the entry of its plain name."""
    return table.get(model) or table.get(_SNAPSHOT_DATE.sub("", model))


def price_of(model: str, prices: Prices = KNOWN_PRICES) -> Price | None:
    """Return the price of `model`, or `None`. A dated snapshot has the price of its plain name."""
    return by_model(model, prices)


def cost_of(model: str, usage: Usage, prices: Prices = KNOWN_PRICES) -> Decimal | None:
    """Return what `usage` costs in US dollars; `None`, never zero, where no price is known."""
    price = price_of(model, prices)
    if price is None:
        return None
    fresh = max(0, usage.input_tokens - usage.cached_tokens)
    total = (
        fresh * price.input
        + usage.cached_tokens * price.cached_input
        + usage.output_tokens * price.output
    )
    return total / _PER_MILLION


def extend_prices(more: Mapping[str, Price], prices: Prices = KNOWN_PRICES) -> Prices:
    """Return the table with `more` added; where both have a name, `more` wins."""
    return {**prices, **more}
