"""What calls take: counted per order and run, and stopped before it exceeds what is allowed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypedDict

from shared.errors import BudgetReached, InvalidInput
from shared.events import Emit, ModelCallEnded, ModelCallStarted, UsageCounted, ignore
from shared.llm.client import Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.prices import KNOWN_PRICES, Prices, cost_of

# Where a cap holds, a call without a limit of its own gets this one: without any, its worst case
# would be unbounded.
DEFAULT_OUTPUT_LIMIT = 32_768

# Text averages more bytes per token than this in every common script; so the estimate is high.
_BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Tally:
    """What was asked of a model now, and what came from a transcript at no cost."""

    live: Usage = field(default_factory=Usage)
    replayed: Usage = field(default_factory=Usage)


def usage_counted(tally: Tally, order: str = "") -> UsageCounted:
    """Return the event that tells what was taken for `order`, or for the run."""
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
    """Adds up usage for the run and for each order; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run = Tally()
        self._orders: dict[str, Tally] = {}

    @property
    def run(self) -> Tally:
        """What all calls so far took."""
        with self._lock:
            return self._run

    def of_order(self, order: str) -> Tally:
        """Return what the calls for `order` took so far."""
        with self._lock:
            return self._orders.get(order, Tally())

    def add(self, order: str | None, usage: Usage, *, replayed: bool) -> None:
        """Count one call."""
        with self._lock:
            self._run = _added(self._run, usage, replayed)
            if order is not None:
                self._orders[order] = _added(self._orders.get(order, Tally()), usage, replayed)


class MeteredClient:
    """Counts what passes through it, prices it, and says when a call starts and ends.

    It belongs outside the transcript: it sees replayed replies too.
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


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may take; `None` is no cap. Tokens are input and output together."""

    max_tokens: int | None = None
    max_cost_usd: Decimal | None = None


class CappedClient:
    """Refuses a call whose worst case, with all that was spent, would exceed the budget.

    It belongs inside the transcript: replies on record are free. Calls under way count with their
    worst case, so that parallel ones cannot exceed the budget together either.
    """

    def __init__(self, inner: LlmClient, budget: Budget, prices: Prices = KNOWN_PRICES) -> None:
        self._inner = inner
        self._budget = budget
        self._prices = prices
        self._lock = threading.Lock()
        self._spent = Usage()
        self._reserved = Usage()

    def complete(self, request: Request) -> Completion:
        """Return the inner client's reply; `BudgetReached` where it might cost too much."""
        if self._budget == Budget():
            return self._inner.complete(request)
        if request.max_output_tokens is None:
            request = replace(request, max_output_tokens=DEFAULT_OUTPUT_LIMIT)
        worst = priced(request.model, worst_case(request), self._prices)
        self._reserve(worst, request)
        spent = Usage()
        try:
            completion = self._inner.complete(request)
            spent = completion.usage
            return completion
        except ReplyFailed as failed:
            spent = failed.usage
            raise
        finally:
            self._settle(worst, priced(request.model, spent, self._prices))

    def _reserve(self, worst: Usage, request: Request) -> None:
        with self._lock:
            committed = self._spent + self._reserved
            self._check_tokens(committed, worst, request)
            self._check_cost(committed, worst, request)
            self._reserved += worst

    def _settle(self, worst: Usage, spent: Usage) -> None:
        with self._lock:
            self._reserved = _without(self._reserved, worst)
            self._spent += spent

    def _check_tokens(self, committed: Usage, worst: Usage, request: Request) -> None:
        cap = self._budget.max_tokens
        if cap is None or total_tokens(committed) + total_tokens(worst) <= cap:
            return
        raise BudgetReached(
            f"the token cap of {cap:,} is reached: {total_tokens(committed):,} are spent and "
            f"the call of {request.place} could take {total_tokens(worst):,} more",
            hint="raise --max-tokens and run again: what is done is kept and not paid for again",
        )

    def _check_cost(self, committed: Usage, worst: Usage, request: Request) -> None:
        cap = self._budget.max_cost_usd
        if cap is None:
            return
        if worst.cost_usd is None or committed.cost_usd is None:
            raise InvalidInput(
                f"--max-cost cannot be held: the price of {request.model} is not known",
                hint="give its price in the configuration, or cap by --max-tokens",
            )
        if committed.cost_usd + worst.cost_usd > cap:
            raise BudgetReached(
                f"the cost cap of ${cap} is reached: ${committed.cost_usd:.4f} are spent and "
                f"the call of {request.place} could take ${worst.cost_usd:.4f} more",
                hint="raise --max-cost and run again: what is done is kept and not paid for again",
            )


def estimate_tokens(text: str) -> int:
    """Return a high estimate of the tokens of `text`, from its bytes: no tokenizer is needed."""
    return len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN + 1


def worst_case(request: Request) -> Usage:
    """Return the most that one call of `request` should take, its output limit used up."""
    prompt = estimate_tokens(request.prompt)
    if request.reply_schema is not None:
        prompt += estimate_tokens(str(request.reply_schema.schema))
    output = request.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    return Usage(calls=1, input_tokens=prompt, output_tokens=output)


def total_tokens(usage: Usage) -> int:
    """Return input and output tokens together; cached and reasoning tokens are parts of them."""
    return usage.input_tokens + usage.output_tokens


def priced(model: str, usage: Usage, prices: Prices = KNOWN_PRICES) -> Usage:
    """Return `usage` with what it costs by the table."""
    if usage == Usage():
        return usage
    return replace(usage, cost_usd=cost_of(model, usage, prices))


def _added(tally: Tally, usage: Usage, replayed: bool) -> Tally:
    if replayed:
        return replace(tally, replayed=tally.replayed + usage)
    return replace(tally, live=tally.live + usage)


def _without(reserved: Usage, worst: Usage) -> Usage:
    known = reserved.cost_usd is not None and worst.cost_usd is not None
    return Usage(
        calls=reserved.calls - worst.calls,
        input_tokens=reserved.input_tokens - worst.input_tokens,
        output_tokens=reserved.output_tokens - worst.output_tokens,
        cost_usd=(reserved.cost_usd or Decimal(0)) - (worst.cost_usd or Decimal(0))
        if known
        else None,
    )


class UsageDocument(TypedDict):
    """What `--json` says of usage; `cost_usd` is null while any price is unknown."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    replayed_calls: int


def usage_document(tally: Tally) -> UsageDocument:
    """Return what live calls took, and how many replies came from a transcript."""
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
