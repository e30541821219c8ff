"""Turns each event into no line, one line or several lines. The module does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llmch.console.clean import on_texts
from llmch.console.line import Line, Mark, Weight
from llmch.console.narration.calls import CallEvent, CallNarrator
from llmch.console.narration.measure import Measure
from llmch.console.narration.orders import OrderEvent, OrderNarrator
from llmch.console.narration.plans import PlanEvent, PlanNarrator
from llmch.console.narration.whole import Whole
from shared.events.event import Event
from shared.events.messages import Noted, Warned
from shared.events.model_calls import ModelTextArrived


class Narrator:
    """Turn events, in the order they happen, into lines.

    A command that is shown to be copied does not name the folder `cwd`. `protect` makes a text
    fit to be shown: an event's texts when the event passes through `fit`, and the pieces of a
    model's text once they are whole lines.
    """

    def __init__(self, *, verbose: bool, cwd: str, protect: Callable[[str], str]) -> None:
        self._protect = protect
        whole, measure = Whole(), Measure(verbose)
        self._calls = CallNarrator(whole, protect, verbose=verbose)
        self._plan = PlanNarrator(whole, measure)
        self._orders = OrderNarrator(whole, measure, cwd)

    def fit(self, event: Event) -> Event:
        """Return the event with its texts fit to be shown.

        A piece of a model's text is returned unchanged: it may end within an escape sequence.
        """
        if isinstance(event, ModelTextArrived):
            return event
        shown: Event = on_texts(event, self._protect)
        return shown

    def tell(self, event: Event) -> tuple[Line, ...]:
        """Return the lines that describe the event."""
        return tuple(self._lines(event))

    def _lines(self, event: Event) -> Iterator[Line]:
        if isinstance(event, CallEvent):
            yield from self._calls.lines(event)
        elif isinstance(event, PlanEvent):
            yield from self._plan.lines(event)
        elif isinstance(event, OrderEvent):
            yield from self._orders.lines(event)
        elif isinstance(event, Warned):
            yield Line(Mark.WARNED, event.message, "warning")
        elif isinstance(event, Noted):
            yield Line(Mark.STEP, event.message, "note")
        else:
            yield Line(Mark.STEP, repr(event), event.kind, weight=Weight.VERBOSE)
