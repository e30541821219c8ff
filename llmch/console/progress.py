"""Follows how far the orders of a plan have come. The module does no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmch.console.expectation import Worked, expect, render_left
from llmch.console.figures import cost, count
from shared.events.attempts import AttemptStarted
from shared.events.event import Event
from shared.events.model_calls import ModelCallEnded, UsageCounted
from shared.events.orders import OrderEnded, OrderSkipped, OrderStarted


@dataclass(slots=True)
class Progress:
    """Count the orders of a batch; times are seconds of the caller's clock."""

    orders: int
    over: int = 0
    failed: int = 0
    attempts: int = 0
    spent: float | None = 0.0
    """What the orders that are over cost, in US dollars; `None` where a price is unknown."""
    _under_way: dict[str, float] = field(default_factory=dict)
    _landed: list[Worked] = field(default_factory=list)
    _replayed: set[str] = field(default_factory=set)

    def take(self, event: Event, now: float) -> None:
        """Apply an event."""
        match event:
            case OrderStarted(order=order):
                self._under_way.setdefault(order, now)
            case AttemptStarted():
                self.attempts += 1
            case OrderSkipped():
                self.over += 1
            case ModelCallEnded(order=order, replayed=True):
                # It took no time, so the order says nothing of how long others take.
                self._replayed.add(order)
            case UsageCounted(order=order, cost_usd=usd) if order:
                known = self.spent is not None and usd is not None
                self.spent = (self.spent or 0.0) + (usd or 0.0) if known else None
            case OrderEnded():
                self._end(event, now)
            case _:
                pass

    def _end(self, event: OrderEnded, now: float) -> None:
        self.over += 1
        self.failed += event.verdict != "PASS"
        began = self._under_way.pop(event.order, now)
        if event.verdict == "PASS" and event.order not in self._replayed:
            self._landed.append(Worked(began, now))

    def describe(self, now: float, *, hidden: int = 0) -> str:
        """Return how far the batch has come, and how much longer it may take.

        `hidden` of the orders under way are not shown elsewhere, so they are counted here.
        """
        text = f"{self.over} of {count(self.orders, 'order')} done"
        if self.spent:
            text += f" ({cost(self.spent)})"
        if self.failed:
            text += f", {self.failed} failed"
        if hidden:
            text += f", {hidden} {'more ' if hidden < len(self._under_way) else ''}under way"
        left = self.left(now)
        return f"{text}; {left}" if left else text

    def left(self, now: float) -> str:
        """Return how much longer the batch may take; "" while nothing speaks for any figure."""
        times = [now - began for began in self._under_way.values()]
        to_begin = max(0, self.orders - self.over - len(times))
        found = expect(self._landed, times, to_begin)
        return "" if found is None else render_left(found)

    @property
    def under_way(self) -> int:
        """Return the number of orders that are being worked on."""
        return len(self._under_way)
