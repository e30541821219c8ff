"""Keeps caps on tokens and cost: each call is checked, with its worst case, before it is made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from decimal import Decimal

from shared.errors import BudgetReached, InvalidInput
from shared.llm.client import Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.cost.estimates import DEFAULT_OUTPUT_LIMIT, total_tokens, worst_case
from shared.llm.cost.prices import KNOWN_PRICES, Prices
from shared.llm.cost.usage import priced


@dataclass(frozen=True, slots=True)
class Budget:
    """Hold what a command may take. `None` means no cap. Tokens are input and output together."""

    max_tokens: int | None = None
    max_cost_usd: Decimal | None = None


class SharedBudget:
    """Hold a budget and what all clients of a command have spent of it. Safe for threads.

    A call under way counts with its worst case, so that parallel calls cannot exceed the budget
    together.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._spent = Usage()
        self._reserved = Usage()

    @property
    def is_bottomless(self) -> bool:
        """Return whether there is no cap at all."""
        return self._budget == Budget()

    def reserve(self, worst: Usage, request: Request) -> None:
        """Reserve `worst` for the call.

        Raises `BudgetReached` where the call might exceed a cap, and `InvalidInput` where a price
        that the cost cap needs is unknown.
        """
        with self._lock:
            committed = self._spent + self._reserved
            self._check_tokens(committed, worst, request)
            self._check_cost(committed, worst, request)
            self._reserved += worst

    def settle(self, worst: Usage, spent: Usage) -> None:
        """Replace the reservation of a call by its real usage."""
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


class CappedClient:
    """Refuse a call whose worst case, with all that was spent, would exceed the budget.

    It belongs inside the transcript: replies on record are free.
    """

    def __init__(
        self, inner: LlmClient, purse: SharedBudget, prices: Prices = KNOWN_PRICES
    ) -> None:
        self._inner = inner
        self._purse = purse
        self._prices = prices

    def complete(self, request: Request) -> Completion:
        """Return the inner client's reply; raise `BudgetReached` where it might cost too much."""
        if self._purse.is_bottomless:
            return self._inner.complete(request)
        if request.max_output_tokens is None:
            request = replace(request, max_output_tokens=DEFAULT_OUTPUT_LIMIT)
        worst = priced(request.model, worst_case(request), self._prices)
        self._purse.reserve(worst, request)
        spent = Usage()
        try:
            completion = self._inner.complete(request)
            spent = completion.usage
            return completion
        except ReplyFailed as failed:
            spent = failed.usage
            raise
        finally:
            self._purse.settle(worst, priced(request.model, spent, self._prices))


def bound_of(
    calls: int,
    input_tokens: int,
    output_tokens: int,
    model: str,
    prices: Prices = KNOWN_PRICES,
) -> Usage:
    """Return the most that `calls` calls of so many tokens each can take, cost included.

    It bounds what a plan can cost before the plan is run.
    """
    usage = Usage(
        calls=calls, input_tokens=calls * input_tokens, output_tokens=calls * output_tokens
    )
    return priced(model, usage, prices)


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
