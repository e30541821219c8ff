"""Counts the usage of calls, and what it costs; holds what is known of models.

Prices and windows change, so those in the configuration win. Each list has its source and date, and
a model without an entry has an unknown price.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final, TypeVar

from shared.events.events import Emit, ModelCallEnded, ModelCallStarted, UsageCounted, ignore
from shared.llm.model_client import Completion, LlmClient, ReplyFailed, Request, Usage

T = TypeVar("T")

_PER_MILLION = Decimal(1_000_000)
_SNAPSHOT_DATE = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$")


@dataclass(frozen=True, slots=True)
class Price:
    """Hold prices in US dollars per million tokens.

    `cached_input` is the price of input that the server reads from its cache, `cache_write` that of
    input that it writes there; `None` is the price of other input. Reasoning tokens are part of the
    output and are billed as output.
    """

    input: Decimal
    cached_input: Decimal
    output: Decimal
    cache_write: Decimal | None = None


Prices = Mapping[str, Price]


def _price(input_usd: str, cached_usd: str, output_usd: str, write_usd: str | None = None) -> Price:
    written = None if write_usd is None else Decimal(write_usd)
    return Price(Decimal(input_usd), Decimal(cached_usd), Decimal(output_usd), written)


# OpenAI's list prices of May 2026 for standard processing (platform.openai.com/docs/pricing, as
# third parties copied it), those of the 5.4 family for prompts under 270,000 tokens.
_OPENAI: Prices = {
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

# Anthropic's list prices of October 2026 (platform.claude.com/docs/en/about-claude/pricing, copies
# of that page and notes of third parties on it), with writes that are kept for five minutes.
# Claude Haiku 5.5 is left out: its price depends on how long a prompt is.
_ANTHROPIC: Prices = {
    "claude-fable-5-1": _price("10.00", "0.25", "50.00", "12.50"),
    "claude-fable-5": _price("10.00", "1.00", "50.00", "12.50"),
    "claude-opus-5-5": _price("4.00", "0.20", "20.00", "5.00"),
    "claude-opus-5": _price("5.00", "0.50", "25.00", "6.25"),
    "claude-opus-4-8": _price("5.00", "0.50", "25.00", "6.25"),
    "claude-opus-4-7": _price("5.00", "0.50", "25.00", "6.25"),
    "claude-opus-4-6": _price("5.00", "0.50", "25.00", "6.25"),
    "claude-opus-4-5": _price("5.00", "0.50", "25.00", "6.25"),
    "claude-opus-4-1": _price("15.00", "1.50", "75.00", "18.75"),
    "claude-sonnet-5-5": _price("2.00", "0.10", "10.00", "2.50"),
    "claude-sonnet-5": _price("2.00", "0.20", "10.00", "2.50"),
    "claude-sonnet-4-6": _price("3.00", "0.30", "15.00", "3.75"),
    "claude-sonnet-4-5": _price("3.00", "0.30", "15.00", "3.75"),
    "claude-haiku-4-5": _price("1.00", "0.10", "5.00", "1.25"),
}

# Google's list prices of autumn 2026 for paid use (ai.google.dev/gemini-api/docs/pricing, as third
# parties copied it). Those of 2.5 Pro and 3.1 Pro are of prompts up to 200,000 tokens; that of 3.8
# Flash is left out: it doubles with the new year.
_GEMINI: Prices = {
    "gemini-2.5-pro": _price("1.25", "0.125", "10.00"),
    "gemini-2.5-flash": _price("0.30", "0.03", "2.50"),
    "gemini-2.5-flash-lite": _price("0.10", "0.01", "0.40"),
    "gemini-3.1-pro-preview": _price("2.00", "0.20", "12.00"),
    "gemini-3.5-flash": _price("1.50", "0.15", "9.00"),
    "gemini-3.5-flash-lite": _price("0.30", "0.03", "2.50"),
    "gemini-3.6-flash": _price("1.50", "0.15", "7.50"),
}

KNOWN_PRICES: Prices = {**_OPENAI, **_ANTHROPIC, **_GEMINI}


def by_model(model: str, table: Mapping[str, T]) -> T | None:
    """Return the entry of `model`, or `None`.

    A dated snapshot has the entry of its plain name, and so has a name in Google's long form.
    """
    plain = _SNAPSHOT_DATE.sub("", model.removeprefix("models/"))
    return table.get(model) or table.get(model.removeprefix("models/")) or table.get(plain)


def cost_of(model: str, usage: Usage, prices: Prices = KNOWN_PRICES) -> Decimal | None:
    """Return what `usage` costs in US dollars; `None`, never zero, where no price is known."""
    price = by_model(model, prices)
    if price is None:
        return None
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.written_tokens)
    total = (
        fresh * price.input
        + usage.written_tokens * (price.input if price.cache_write is None else price.cache_write)
        + usage.cached_tokens * price.cached_input
        + usage.output_tokens * price.output
    )
    return total / _PER_MILLION


@dataclass(frozen=True, slots=True)
class Tally:
    """Hold the usage of live calls, and of replies that came from a transcript at no cost."""

    live: Usage = field(default_factory=Usage)
    replayed: Usage = field(default_factory=Usage)

    def __sub__(self, earlier: Tally) -> Tally:
        return Tally(self.live - earlier.live, self.replayed - earlier.replayed)


def usage_counted(tally: Tally, order: str = "") -> UsageCounted:
    """Return the event that reports the usage of `order`, or of the run where it is empty."""
    live = tally.live
    return UsageCounted(
        calls=live.calls,
        input_tokens=live.input_tokens,
        cached_tokens=live.cached_tokens,
        output_tokens=live.output_tokens,
        cost_usd=None if live.cost_usd is None else float(live.cost_usd),
        replayed_calls=tally.replayed.calls,
        order=order,
        estimated_calls=live.estimated_calls,
    )


class Meter:
    """Add up usage for the run and for each order. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run = Tally()
        self._orders: dict[str, Tally] = {}

    @property
    def run(self) -> Tally:
        with self._lock:
            return self._run

    def of_order(self, order: str) -> Tally:
        with self._lock:
            return self._orders.get(order, Tally())

    def add(self, order: str | None, usage: Usage, *, replayed: bool) -> None:
        with self._lock:
            self._run = _added(self._run, usage, replayed)
            if order is not None:
                self._orders[order] = _added(self._orders.get(order, Tally()), usage, replayed)


class MeteredClient:
    """Count and price each call, and emit an event when a call starts and when it ends.

    It belongs outside the transcript, so that it sees replayed replies too.
    """

    def __init__(
        self,
        inner: LlmClient,
        meter: Meter,
        *,
        prices: Prices = KNOWN_PRICES,
        emit: Emit = ignore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._meter = meter
        self._prices = prices
        self._emit = emit
        self._clock = clock

    def complete(self, request: Request) -> Completion:
        """Return the inner client's reply with its cost filled in; failed calls count too."""
        order = request.place.order or ""
        emit = ignore if request.perform else self._emit  # then no model is asked
        emit(ModelCallStarted(str(request.place), request.model, order))
        started = self._clock()
        try:
            completion = self._inner.complete(request)
        except ReplyFailed as failed:
            self._count(request, failed.usage, replayed=failed.replayed)
            raise
        usage = self._count(request, completion.usage, replayed=completion.replayed)
        emit(
            ModelCallEnded(
                place=str(request.place),
                model=completion.model,
                seconds=self._clock() - started,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                replayed=completion.replayed,
                order=order,
            )
        )
        return replace(completion, usage=usage)

    def _count(self, request: Request, usage: Usage, *, replayed: bool) -> Usage:
        if not replayed:
            usage = priced(request.model, usage, self._prices)
        if request.perform is None:  # else llmch did it itself, and no reply is replayed
            self._meter.add(request.place.order, usage, replayed=replayed)
        return usage


def priced(model: str, usage: Usage, prices: Prices = KNOWN_PRICES) -> Usage:
    if usage == Usage():
        return usage
    return replace(usage, cost_usd=cost_of(model, usage, prices))


def _added(tally: Tally, usage: Usage, replayed: bool) -> Tally:
    if replayed:
        # Each replayed reply counts as one call, also an authored one, for which no call was made.
        return replace(tally, replayed=tally.replayed + replace(usage, calls=1))
    return replace(tally, live=tally.live + usage)


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Hold usage as records and `--json` documents do; `cost_usd` is null if a price is unknown.

    The tokens of `estimated_calls` are estimates: the server's report was missing or too low.
    """

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    replayed_calls: int = 0
    estimated_calls: int = 0

    def __add__(self, other: UsageRecord) -> UsageRecord:
        known = self.cost_usd is not None and other.cost_usd is not None
        return UsageRecord(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            self.replayed_calls + other.replayed_calls,
            self.estimated_calls + other.estimated_calls,
        )


NO_USAGE: Final = UsageRecord(0, 0, 0, 0, 0, 0.0)
UNKNOWN_USAGE: Final = UsageRecord(0, 0, 0, 0, 0, None)
"""The usage of calls that a record does not count."""


def usage_record(tally: Tally) -> UsageRecord:
    """Return the usage of live calls, and the number of replies that came from a transcript."""
    live = tally.live
    return UsageRecord(
        live.calls,
        live.input_tokens,
        live.cached_tokens,
        live.output_tokens,
        live.reasoning_tokens,
        None if live.cost_usd is None else float(live.cost_usd),
        tally.replayed.calls,
        live.estimated_calls,
    )


Windows = Mapping[str, int]
"""For each model, the tokens of prompt and reply together that one call can take."""

# From what third parties list of May 2026, not checked against the provider's own pages; where they
# disagree, the largest, which only loosens a bound. A server may be started with a smaller window
# than its model has, so the configuration wins.
KNOWN_WINDOWS: Windows = {
    **dict.fromkeys(_ANTHROPIC, 1_000_000),
    **dict.fromkeys(
        ("claude-haiku-4-5", "claude-opus-4-1", "claude-opus-4-5", "claude-sonnet-4-5"), 200_000
    ),
    **dict.fromkeys(_GEMINI, 1_048_576),
    **dict.fromkeys(("gpt-5", "gpt-5-codex", "gpt-5-mini", "gpt-5-nano", "gpt-5.1"), 400_000),
    **dict.fromkeys(("gpt-5.2", "gpt-5.2-codex", "gpt-5.3-codex"), 400_000),
    **dict.fromkeys(("gpt-5.4-mini", "gpt-5.4-nano"), 400_000),
    **dict.fromkeys(("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"), 1_047_576),
    **dict.fromkeys(("gpt-4o", "gpt-4o-mini"), 128_000),
    **dict.fromkeys(("gpt-5.4", "gpt-5.5"), 1_050_000),
    **dict.fromkeys(("o3", "o4-mini"), 200_000),
}
