"""Caps on tokens and cost, checked before each call."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from decimal import Decimal

from shared.errors import BudgetReached, InvalidInput
from shared.events.events import BudgetCommitted, Emit, Noted, ignore
from shared.llm import tool_calls
from shared.llm.model_client import CallPlace, Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.usage import KNOWN_PRICES, KNOWN_WINDOWS, Prices, Windows, by_model, cost_of, priced

# Where there is a cap, a call without an output limit gets this one. Its worst case would be
# unbounded otherwise.
DEFAULT_OUTPUT_LIMIT = 32_768

# Text in every common script averages more bytes per token than this, so the estimate is high.
_BYTES_PER_TOKEN = 3

# Code and English average about this many bytes per token.
_LIKELY_BYTES_PER_TOKEN = 4

# Many tokenizers make a token of each digit, so a table of numbers has far more tokens than text.
_DIGITS = b"0123456789"

# Servers wrap a prompt into a template: marks of the roles, and often a system prompt of their own
# (that of Qwen2.5 takes about 30 tokens, that of gpt-oss about 70).
TEMPLATE_TOKENS = 100


def estimate_tokens(text: str) -> int:
    """Return a high estimate of the tokens of `text`, from its bytes: no tokenizer is needed."""
    data = text.encode("utf-8", "surrogatepass")
    others = len(data.translate(None, _DIGITS))
    return len(data) - others + others // _BYTES_PER_TOKEN + 1


# English prose, whose words are among the longest that a tokenizer knows whole, has four to five
# letters per token (OpenAI's rule of thumb is four characters), code has about three, and other
# scripts have fewer. No real text reaches twice as much.
_LETTERS_PER_TOKEN = 8
_NO_LETTERS = bytes(
    each for each in range(256) if 0x80 <= each < 0xC0 or (each < 0x80 and not chr(each).isalnum())
)


def least_tokens(text: str) -> int:
    """Return a low estimate of the tokens of `text`, from its letters and digits alone.

    A long run of blanks or of dashes may be one token.
    """
    data = text.encode("utf-8", "surrogatepass")
    return len(data.translate(None, _NO_LETTERS)) // _LETTERS_PER_TOKEN


def most_tokens(size: int) -> int:
    """Return a high estimate of the tokens of a text of `size` bytes that is not known yet."""
    return size // _BYTES_PER_TOKEN + 1


def likely_tokens(size: int) -> int:
    """Return how many tokens a text of `size` bytes probably has."""
    return -(-size // _LIKELY_BYTES_PER_TOKEN)


def asked_text(request: Request) -> str:
    """Return the text that a model is asked: the prompt with all that followed, or a call."""
    if request.relayed:
        return request.relayed.body
    if request.tools or request.exchanges:
        return f"{request.prompt}\n{tool_calls.conversation_text(request)}"
    return request.prompt


def estimate_input(request: Request) -> int:
    """Return a high estimate of the input tokens of `request`: prompt, schema and template."""
    tokens = estimate_tokens(asked_text(request)) + TEMPLATE_TOKENS
    if request.reply_schema is not None:
        tokens += estimate_tokens(str(request.reply_schema.schema))
    return tokens


def total_tokens(usage: Usage) -> int:
    """Return input and output tokens together; cached and reasoning tokens are parts of them."""
    return usage.input_tokens + usage.output_tokens


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
        """Return the most that the call takes where the reply is limited to `output_tokens`.

        At worst the server writes all input to its cache, which may cost more than to read it.
        """
        usage = Usage(
            1, self.input_tokens, output_tokens=output_tokens, written_tokens=self.input_tokens
        )
        return Usage(1, self.input_tokens, 0, output_tokens, 0, cost_of(self.model, usage, prices))


def bound_call(request: Request, windows: Windows) -> CallBound:
    """Return the bound of a call: its output limit, and what the model's window leaves.

    Where the window seems to leave too little, the output limit stays: the estimate of the prompt
    is a high one.
    """
    limit = request.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    enough = min(limit, request.expected_output_tokens or _ENOUGH)
    tokens = estimate_input(request)
    if (window := by_model(request.model, windows)) is not None:
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
        return self._budget == Budget()

    @property
    def committed(self) -> Usage:
        """Return what is spent and what the calls under way may take, together."""
        with self._settled:
            return self._spent + self._reserved

    def reserve(self, call: CallBound, place: CallPlace, prices: Prices) -> Usage:
        """Reserve what the call can take, and return it; its output is what the reply may have.

        Raises `BudgetReached` if the caps leave too little for a whole reply, and
        `InvalidInput` if a price that the cost cap needs is unknown.
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
            self._reserved -= reserved
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
        """Return the inner client's reply; raise `BudgetReached` if it might cost too much."""
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
