"""Makes orders behind one small protocol, so that this process need not make them itself.

The protocol is like `concurrent.futures`: a task goes in, a future comes out. A task names the
order and the base commit; its result names a commit that the repo can find. Doing a task twice is
harmless: equal work has an equal key, and only the coordinator lands anything.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Protocol

from factory.orders.task import OrderResult, OrderTask
from factory.run.execution import Execution
from factory.sandbox import end_all

# For all threads together. A thread that still waits for a model after that writes nothing.
_PATIENCE_SECONDS = 2.0
_LOOK_EVERY_SECONDS = 0.05


class Worker(Protocol):
    """Make orders on their bases."""

    def submit(self, task: OrderTask) -> Future[OrderResult]:
        """Start making an order. The future fails only where the harness itself does."""

    def cancel(self) -> None:
        """End the running orders; their futures may never be done."""


class LocalWorker:
    """Make orders in this process: at once with one job, else each in a thread."""

    def __init__(self, execution: Execution, jobs: int) -> None:
        self._execution = execution
        self._jobs = jobs
        self._threads: list[threading.Thread] = []

    def submit(self, task: OrderTask) -> Future[OrderResult]:
        """Start making an order; with one job the order is made when this returns."""
        future: Future[OrderResult] = Future()
        if self._jobs == 1:
            future.set_result(self._execution.make(task))
            return future
        # This is not a thread pool: at its end the interpreter waits for a pool's threads, and one
        # that waits for a model's reply would keep an interrupted run from ending.
        thread = threading.Thread(
            target=self._make, args=(task, future), name=task.name, daemon=True
        )
        self._threads.append(thread)
        thread.start()
        return future

    def cancel(self) -> None:
        """Stop each order at its next step, and kill the running commands."""
        self._execution.cancelled.set()
        until = time.monotonic() + _PATIENCE_SECONDS
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < until:
                end_all()  # repeated, because a command may have been about to start
                thread.join(timeout=_LOOK_EVERY_SECONDS)

    def _make(self, task: OrderTask, future: Future[OrderResult]) -> None:
        try:
            future.set_result(self._execution.make(task))
        except BaseException as error:
            future.set_exception(error)
