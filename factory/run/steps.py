"""Defines the steps by which an order is made, and how far it has come between two of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from factory.attempt.state import FactoryState
from factory.orders.task import OrderResult, OrderTask
from shared.errors import Interrupted
from shared.llm.client import Completion, LlmClient, Request


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
    asking: threading.Event = field(default_factory=threading.Event)
    """Set while the step waits for a model."""

    def drop(self) -> bool:
        """Say that nobody wants the outcome any more; after this the step reports no progress.

        Return whether the step waits for a model. It then leaves the order's records alone, even
        after the reply, so that another step of the order can be taken meanwhile.
        """
        with self.reporting:
            self.dropped.set()
            return self.asking.is_set()

    @contextlib.contextmanager
    def waiting_for_model(self) -> Iterator[None]:
        """Say that the step waits for a model while the block runs.

        Raises `Interrupted` where the step was dropped before or meanwhile, whatever the model did.
        """
        with self.reporting:
            self._check_wanted()
            self.asking.set()
        try:
            yield
        finally:
            with self.reporting:
                self.asking.clear()
                self._check_wanted()

    def _check_wanted(self) -> None:
        if self.dropped.is_set():
            raise Interrupted("nobody wants the outcome of this step any more")


@dataclass(frozen=True, slots=True)
class StepClient:
    """Ask a model for a step. Where nobody wants the reply any more, it is only recorded."""

    step: Step
    inner: LlmClient

    def complete(self, request: Request) -> Completion:
        """Return the reply of `inner`; raise `Interrupted` if the step is dropped until then."""
        with self.step.waiting_for_model():
            return self.inner.complete(request)
