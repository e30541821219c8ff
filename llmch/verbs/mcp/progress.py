"""Says how far a call has come, as the numbers of a progress notification. Does no I/O."""

from __future__ import annotations

from shared.events.event import Event
from shared.events.orders import BatchStarted, OrderEnded, OrderSkipped

# With this many steps, an order counts as half done: asked, applied, verified, accepted, ...
_HALF_AN_ORDER = 8


class Progress:
    """Count the orders that are over, and the steps since then, so that the number always rises.

    What comes before the first order and after the last counts as little as a part of an order. A
    plan has no orders yet, and so no total.
    """

    def __init__(self) -> None:
        self._orders: int | None = None
        self._over = 0
        self._steps = 0

    def take(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case BatchStarted(orders=orders):
                self._orders = orders
            case OrderEnded() | OrderSkipped():
                self._over += 1
                self._steps = 0
            case _:
                pass

    def step(self) -> tuple[float, float | None]:
        """Return how much is done after one more step, and the total where it is known."""
        self._steps += 1
        done = self._over + self._steps / (self._steps + _HALF_AN_ORDER)
        return done, None if self._orders is None else max(self._orders, self._over) + 1.0
