"""Keeps caps on tokens and cost: each call is checked, with its worst case, before it is made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from decimal import Decimal

from shared.errors import BudgetReached, InvalidInput
from shared.events.event import Emit, ignore
from shared.events.messages import Noted
from shared.events.model_calls import BudgetCommitted
from shared.llm.client import CallPlace, Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.cost.bounds import Budget, CallBound, bound_call, output_left
from shared.llm.cost.estimates import total_tokens
from shared.llm.cost.prices import KNOWN_PRICES, Prices
from shared.llm.cost.usage import priced
from shared.llm.cost.windows import KNOWN_WINDOWS, Windows


@dataclass(frozen=True, slots=True)
class ModelTables:
    """Hold what is known of models: their prices and their windows."""

    prices: Prices
    windows: Windows


KNOWN = ModelTables(KNOWN_PRICES, KNOWN_WINDOWS)


class SharedBudget:
    """Hold a budget and what all clients of a command have spent of it. Safe for threads.

    A call under way counts with its worst case, so that parallel calls cannot exceed the budget
    together. A call that does not fit beside them waits until they have ended.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._settled = threading.Condition()
        self._spent = Usage()
        self._reserved = Usage()

    @property
    def is_bottomless(self) -> bool:
        """Return whether there is no cap at all."""
        return self._budget == Budget()

    @property
    def committed(self) -> Usage:
        """Return what is spent and what the calls under way may take, together."""
        with self._settled:
            return self._spent + self._reserved

    def reserve(self, call: CallBound, place: CallPlace, prices: Prices) -> Usage:
        """Reserve what the call can take, and return it; its output is what the reply may have.

        Raises `BudgetReached` where the caps leave too little for a whole reply, and
        `InvalidInput` where a price that the cost cap needs is unknown.
        """
        with self._settled:
            while True:
                self._check_price(call, prices)
                self._check(call, place, prices)
                committed = self._spent + self._reserved
                output = output_left(self._budget, committed, call, prices)
                if output >= call.least_output:
                    reserved = call.usage(output, prices)
                    self._reserved += reserved
                    return reserved
                self._settled.wait()

    def settle(self, reserved: Usage, spent: Usage) -> None:
        """Replace the reservation of a call by its real usage."""
        with self._settled:
            self._reserved = _without(self._reserved, reserved)
            self._spent += spent
            self._settled.notify_all()

    def _check(self, call: CallBound, place: CallPlace, prices: Prices) -> None:
        """Refuse a call that would not fit even if the calls under way took nothing."""
        if output_left(self._budget, self._spent, call, prices) >= call.least_output:
            return
        needed = call.usage(call.least_output, prices)
        cap = self._budget.max_tokens
        if cap is not None and total_tokens(self._spent) + total_tokens(needed) > cap:
            raise BudgetReached(
                f"the token cap of {cap:,} is reached: {total_tokens(self._spent):,} are spent, "
                f"and the call of {place} needs room for {total_tokens(needed):,} more",
                hint="raise --max-tokens and run again: what is done is kept and not paid for "
                "again",
            )
        raise BudgetReached(
            f"the cost cap of ${self._budget.max_cost_usd} is reached: "
            f"${self._spent.cost_usd:.4f} are spent, and the call of {place} needs room for "
            f"${needed.cost_usd:.4f} more",
            hint="raise --max-cost and run again: what is done is kept and not paid for again",
        )

    def _check_price(self, call: CallBound, prices: Prices) -> None:
        if self._budget.max_cost_usd is None:
            return
        if call.usage(0, prices).cost_usd is None or self._spent.cost_usd is None:
            raise InvalidInput(
                f"--max-cost cannot be held: the price of {call.model} is not known",
                hint="give its price in the configuration, or cap by --max-tokens",
            )


class CappedClient:
    """Refuse a call that could exceed the budget, with all that was spent and is under way.

    Where the budget leaves less than the request's output limit, but enough for a whole reply, the
    call is made with a lower limit. The client belongs inside the transcript: replies on record
    are free, and a lowered limit does not change the key of a request.
    """

    def __init__(
        self,
        inner: LlmClient,
        purse: SharedBudget,
        tables: ModelTables = KNOWN,
        emit: Emit = ignore,
    ) -> None:
        self._inner = inner
        self._purse = purse
        self._tables = tables
        self._emit = emit

    def complete(self, request: Request) -> Completion:
        """Return the inner client's reply; raise `BudgetReached` where it might cost too much."""
        if self._purse.is_bottomless:
            return self._inner.complete(request)
        prices = self._tables.prices
        bound = bound_call(request, self._tables.windows)
        reserved = self._purse.reserve(bound, request.place, prices)
        self._announce()
        spent = Usage()
        try:
            completion = self._inner.complete(self._limited(request, bound, reserved))
            spent = priced(request.model, completion.usage, prices)
            return completion
        except ReplyFailed as failed:
            spent = priced(request.model, failed.usage, prices)
            raise
        except KeyboardInterrupt:  # the server may go on with the reply, and bill it
            spent = reserved
            raise
        finally:
            self._purse.settle(reserved, spent)
            self._announce()

    def _announce(self) -> None:
        usage = self._purse.committed
        cost = None if usage.cost_usd is None else float(usage.cost_usd)
        self._emit(BudgetCommitted(total_tokens(usage), cost))

    def _limited(self, request: Request, bound: CallBound, reserved: Usage) -> Request:
        """Return the request with the limit that was reserved, and report a lower one."""
        if reserved.output_tokens < bound.most_output:
            self._emit(
                Noted(
                    f"{request.place}: the cap leaves room for a reply of "
                    f"{reserved.output_tokens:,} tokens instead of {bound.most_output:,}"
                )
            )
        return replace(request, max_output_tokens=reserved.output_tokens)


def _without(reserved: Usage, ended: Usage) -> Usage:
    known = reserved.cost_usd is not None and ended.cost_usd is not None
    return Usage(
        calls=reserved.calls - ended.calls,
        input_tokens=reserved.input_tokens - ended.input_tokens,
        output_tokens=reserved.output_tokens - ended.output_tokens,
        cost_usd=(reserved.cost_usd or Decimal(0)) - (ended.cost_usd or Decimal(0))
        if known
        else None,
    )
