"""Says in lines what happens: each event becomes none, one or several. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llmch.console.clean import on_texts
from llmch.console.line import Line, Mark, Weight
from llmch.console.narration.calls import CallEvent, CallNarrator
from llmch.console.narration.measure import Measure
from llmch.console.narration.orders import OrderEvent, OrderNarrator
from llmch.console.narration.plans import PlanEvent, PlanNarrator
from llmch.console.narration.whole import Whole
from shared.events import Event, ModelTextArrived, Noted, Warned


class Narrator:
    """Turns events, in the order they happen, into lines.

    `cwd` is left out of commands that are shown to be copied. `protect` makes a text fit to be
    shown: events pass through `fit` first, and the pieces of a model's text once they are lines.
    """

    def __init__(self, *, verbose: bool, cwd: str, protect: Callable[[str], str]) -> None:
        self._protect = protect
        whole, measure = Whole(), Measure(verbose)
        self._calls = CallNarrator(whole, protect, verbose=verbose)
        self._plan = PlanNarrator(whole, measure)
        self._orders = OrderNarrator(whole, measure, cwd)

    def fit(self, event: Event) -> Event:
        """Return the event fit to be shown; but not a piece, which may end within a sequence."""
        if isinstance(event, ModelTextArrived):
            return event
        shown: Event = on_texts(event, self._protect)
        return shown

    def tell(self, event: Event) -> tuple[Line, ...]:
        """Return the lines that say what happened."""
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
