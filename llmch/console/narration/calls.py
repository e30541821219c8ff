"""Turns the events of model calls into lines. The module does no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from llmch.console.figures import duration
from llmch.console.line import Line, Mark, Weight
from llmch.console.narration.details import usage_text
from llmch.console.narration.thoughts import Thoughts
from llmch.console.narration.whole import MODEL, PLAN, Whole
from shared.events.model_calls import (
    BudgetCommitted,
    Channel,
    ModelCallEnded,
    ModelCallStarted,
    ModelRetryScheduled,
    ModelTextArrived,
    UsageCounted,
)

CallEvent = (
    ModelCallStarted
    | ModelCallEnded
    | ModelRetryScheduled
    | ModelTextArrived
    | BudgetCommitted
    | UsageCounted
)


class CallNarrator:
    """Turn the events of model calls into lines.

    The pieces of a model's text pass through `protect` once they are whole lines.
    """

    def __init__(self, whole: Whole, protect: Callable[[str], str], *, verbose: bool) -> None:
        self._whole = whole
        self._verbose = verbose
        self._thoughts: defaultdict[str, Thoughts] = defaultdict(lambda: Thoughts(protect))

    def lines(self, event: CallEvent) -> Iterator[Line]:
        """Return the lines that describe the event."""
        match event:
            case ModelCallStarted(_, model, order):
                self._thoughts[order or PLAN].end()
                yield Line(Mark.STEP, model, order or PLAN, "ask", weight=Weight.PASSING)
            case ModelCallEnded():
                yield from _thought_lines(self._thoughts[event.order or PLAN].end())
                aside = "replayed" if event.replayed else duration(event.seconds)
                yield Line(Mark.STEP, _reply(event), event.order or PLAN, "reply", aside)
            case ModelRetryScheduled(reason, wait, retry, order):
                text = f"{reason}; trying again in {duration(wait)}"
                yield Line(Mark.RETRY, text, order or MODEL, "wait", f"retry {retry}")
            case ModelTextArrived():
                yield from self._text(event)
            case BudgetCommitted(tokens, cost):
                price = "" if cost is None else f", ${cost:.4f}"
                text = f"{tokens:,} tokens{price} are spent or may be by the calls under way"
                who = self._whole.name or MODEL
                yield Line(Mark.STEP, text, who, "budget", weight=Weight.VERBOSE)
            case UsageCounted():
                yield self._usage(event)

    def _usage(self, event: UsageCounted) -> Line:
        # In a batch, the sum at the end is enough.
        weight = Weight.VERBOSE if event.order and self._whole.in_batch else Weight.NORMAL
        who = event.order or self._whole.name or MODEL
        return Line(Mark.STEP, usage_text(event), who, "usage", weight=weight)

    def _text(self, event: ModelTextArrived) -> Iterator[Line]:
        """Yield a model's reasoning by whole lines; its reply is JSON, and the record has it."""
        if event.channel == Channel.REASONING and self._verbose:
            yield from _thought_lines(self._thoughts[event.order or PLAN].add(event.text))


def _reply(event: ModelCallEnded) -> str:
    if not (event.input_tokens or event.output_tokens):  # an authored reply has no token counts
        return event.model
    return f"{event.model}: {event.input_tokens:,} tokens in, {event.output_tokens:,} out"


def _thought_lines(thoughts: list[str]) -> Iterator[Line]:
    return (Line(Mark.QUOTE, thought, weight=Weight.VERBOSE) for thought in thoughts)
