"""Defines the steps by which an order is made, and how far it has come between two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from factory.attempt.state import FactoryState
from factory.orders.task import OrderResult, OrderTask


@dataclass(frozen=True, slots=True)
class Making:
    """Hold how far an order has come: everything that its next step goes on from.

    `result` is how the attempts ended. `unfit` says why the proposal cannot be judged on the commit
    that it was to follow, so that the order has to be made again there.
    """

    state: FactoryState
    result: OrderResult | None = None
    unfit: str = ""

    @property
    def is_proposed(self) -> bool:
        """Return whether a proposal waits to be judged."""
        return self.result is None and self.state["attempt"].proposal is not None


def _tell_nobody(commit: str) -> None:
    """Announce a commit where no other order waits for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Describe one step of an order.

    Without a `parent`, the model is asked for the next proposal, on the order's base. With one, the
    proposal that `making` holds is judged on that commit; `announce` is told the id of the order's
    own commit before a command runs. `drops` is how often the order was dropped before.
    """

    task: OrderTask
    making: Making | None = None
    parent: str = ""
    announce: Callable[[str], None] = _tell_nobody
    drops: int = 0
    dropped: threading.Event = field(default_factory=threading.Event)
    reporting: threading.Lock = field(default_factory=threading.Lock)
    """Held while the step reports its progress."""

    def drop(self) -> None:
        """Say that nobody wants the outcome any more; after this the step reports no progress."""
        with self.reporting:
            self.dropped.set()
