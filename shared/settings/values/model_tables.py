"""Reads tables of models: what their tokens cost, and how many tokens a call can take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shared.errors import InvalidInput
from shared.llm.cost.prices import Price
from shared.settings.values.given import Given
from shared.settings.values.numbers import WholeNumber, read_dollars

_WINDOW = WholeNumber(1, 100_000_000)


def read_prices(given: Given) -> Mapping[str, Price]:
    """Return prices by model, from tables of `input`, `cached_input` and `output`."""
    if not isinstance(given.value, dict):
        raise given.refused("a table of models")
    return {name: _price(name, entry, given) for name, entry in given.value.items()}


def _price(model: str, entry: object, given: Given) -> Price:
    at = replace(given, value=entry, name=f"{given.name}.{model}")
    if not isinstance(entry, dict) or not {"input", "output"} <= entry.keys():
        raise at.refused("a table with input and output, in US dollars per million tokens")
    if unknown := entry.keys() - {"input", "cached_input", "output"}:
        raise InvalidInput(
            f"{given.source}: {at.name} has the unknown key {min(unknown)}",
            "a price has input, cached_input and output",
        )
    figures = {
        part: read_dollars(replace(at, value=value, name=f"{at.name}.{part}"))
        for part, value in entry.items()
    }
    # Without a price for cached input, cached input costs as much as other input.
    cached = figures.get("cached_input", figures["input"])
    return Price(input=figures["input"], cached_input=cached, output=figures["output"])


def read_windows(given: Given) -> Mapping[str, int]:
    """Return the windows of models, in tokens, from a table of whole numbers."""
    if not isinstance(given.value, dict):
        raise given.refused("a table of models")
    return {
        name: _WINDOW(replace(given, value=entry, name=f"{given.name}.{name}"))
        for name, entry in given.value.items()
    }
