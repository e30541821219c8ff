"""Bounds what one call can take, and finds how long a reply may be under a budget. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from shared.llm.client import Request, Usage
from shared.llm.cost.estimates import DEFAULT_OUTPUT_LIMIT, estimate_input, total_tokens
from shared.llm.cost.prices import Prices, cost_of
from shared.llm.cost.windows import Windows, window_of

# Where a request does not say how long its reply should be, a cap that leaves less is reached. A
# plan of ten orders takes some 5,000 tokens.
_ENOUGH = 8_000


@dataclass(frozen=True, slots=True)
class Budget:
    """Hold what a command may take. `None` means no cap. Tokens are input and output together."""

    max_tokens: int | None = None
    max_cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class CallBound:
    """Hold what one call can take, in tokens.

    The reply has at most `most_output` tokens. A reply that may have fewer than `least_output`
    would probably be cut short.
    """

    model: str
    input_tokens: int
    most_output: int
    least_output: int

    def usage(self, output_tokens: int, prices: Prices) -> Usage:
        """Return the most that the call takes where the reply is limited to `output_tokens`."""
        usage = Usage(1, self.input_tokens, output_tokens=output_tokens)
        return Usage(1, self.input_tokens, 0, output_tokens, 0, cost_of(self.model, usage, prices))


def bound_call(request: Request, windows: Windows) -> CallBound:
    """Return the bound of a call: its output limit, and what the model's window leaves.

    Where the window seems to leave too little, the output limit stays: the estimate of the prompt
    is a high one.
    """
    limit = request.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    enough = min(limit, request.expected_output_tokens or _ENOUGH)
    tokens = estimate_input(request)
    if (window := window_of(request.model, windows)) is not None:
        tokens = min(tokens, window)
        left = window - tokens
        limit = min(limit, left if left >= enough else window)
    return CallBound(request.model, tokens, limit, min(enough, limit))


def output_left(budget: Budget, committed: Usage, call: CallBound, prices: Prices) -> int:
    """Return the longest reply, in tokens, that keeps the call within the budget.

    It is at most `call.most_output`, and below zero where the prompt alone takes too much. All
    costs that a cost cap needs must be known.
    """
    output = call.most_output
    if budget.max_tokens is not None:
        output = min(output, budget.max_tokens - total_tokens(committed) - call.input_tokens)
    if budget.max_cost_usd is None or output < 0:
        return output
    left = budget.max_cost_usd - (committed.cost_usd or Decimal(0))
    if (call.usage(output, prices).cost_usd or Decimal(0)) <= left:
        return output
    prompt = call.usage(0, prices).cost_usd or Decimal(0)
    if prompt > left:
        return -1
    token = (call.usage(1, prices).cost_usd or Decimal(0)) - prompt
    return int((left - prompt) // token)
