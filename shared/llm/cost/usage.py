"""Counts the usage of calls per order and per run, for events and `--json` documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypedDict

from shared.events.event import Emit, ignore
from shared.events.model_calls import ModelCallEnded, ModelCallStarted, UsageCounted
from shared.llm.client import Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.cost.prices import KNOWN_PRICES, Prices, cost_of


@dataclass(frozen=True, slots=True)
class Tally:
    """Hold the usage of live calls, and of replies that came from a transcript at no cost."""

    live: Usage = field(default_factory=Usage)
    replayed: Usage = field(default_factory=Usage)


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
    )


class Meter:
    """Add up usage for the run and for each order. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run = Tally()
        self._orders: dict[str, Tally] = {}

    @property
    def run(self) -> Tally:
        """Return the usage of all calls so far."""
        with self._lock:
            return self._run

    def of_order(self, order: str) -> Tally:
        """Return the usage of the calls for `order` so far."""
        with self._lock:
            return self._orders.get(order, Tally())

    def add(self, order: str | None, usage: Usage, *, replayed: bool) -> None:
        """Count one call."""
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
        self._emit(ModelCallStarted(str(request.place), request.model, order))
        started = self._clock()
        try:
            completion = self._inner.complete(request)
        except ReplyFailed as failed:
            self._count(request, failed.usage, replayed=failed.replayed)
            raise
        usage = self._count(request, completion.usage, replayed=completion.replayed)
        self._emit(
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
        self._meter.add(request.place.order, usage, replayed=replayed)
        return usage


def priced(model: str, usage: Usage, prices: Prices = KNOWN_PRICES) -> Usage:
    """Return `usage` with its cost by the table."""
    if usage == Usage():
        return usage
    return replace(usage, cost_usd=cost_of(model, usage, prices))


def _added(tally: Tally, usage: Usage, replayed: bool) -> Tally:
    if replayed:
        # Each replayed reply counts as one call, also an authored one, for which no call was made.
        return replace(tally, replayed=tally.replayed + replace(usage, calls=1))
    return replace(tally, live=tally.live + usage)


class UsageDocument(TypedDict):
    """Represent usage in a `--json` document; `cost_usd` is null while any price is unknown."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    replayed_calls: int


def usage_document(tally: Tally) -> UsageDocument:
    """Return the usage of live calls, and the number of replies that came from a transcript."""
    live = tally.live
    return {
        "calls": live.calls,
        "input_tokens": live.input_tokens,
        "cached_tokens": live.cached_tokens,
        "output_tokens": live.output_tokens,
        "reasoning_tokens": live.reasoning_tokens,
        "cost_usd": None if live.cost_usd is None else float(live.cost_usd),
        "replayed_calls": tally.replayed.calls,
    }
