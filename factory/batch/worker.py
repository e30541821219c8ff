"""Takes the steps of orders behind one small protocol, so that this process need not do so itself.

The protocol is like `concurrent.futures`: a step goes in, a future comes out. A step names the
order and a commit; its outcome names a commit that the repo can find. Taking a step twice is
harmless: equal work has an equal key, and only the coordinator lands anything.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Protocol

from factory.run.execution import Execution
from factory.run.steps import Making, Step
from factory.sandbox import end_all

# For all threads together. A thread that still waits for a model after that writes nothing.
_PATIENCE_SECONDS = 2.0
_LOOK_EVERY_SECONDS = 0.05


class Worker(Protocol):
    """Take steps of orders, at most one of each order at a time."""

    def submit(self, step: Step) -> Future[Making]:
        """Start a step. The future fails only where the harness itself does."""

    def drop(self, step: Step) -> None:
        """End a running step early, because nobody wants its outcome; its future is done soon.

        Called again until the future is done: a command may have been about to start.
        """

    def cancel(self) -> None:
        """End the running steps; their futures may never be done."""


class LocalWorker:
    """Take steps in this process: at once with one job, else each in a thread."""

    def __init__(self, execution: Execution, jobs: int) -> None:
        self._execution = execution
        self._jobs = jobs
        self._threads: list[threading.Thread] = []

    def submit(self, step: Step) -> Future[Making]:
        """Start a step; with one job it has been taken when this returns."""
        future: Future[Making] = Future()
        if self._jobs == 1:
            future.set_result(self._execution.run(step))
            return future
        # This is not a thread pool: at its end the interpreter waits for a pool's threads, and one
        # that waits for a model's reply would keep an interrupted run from ending.
        thread = threading.Thread(
            target=self._run, args=(step, future), name=step.task.name, daemon=True
        )
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        thread.start()
        return future

    def drop(self, step: Step) -> None:
        """Kill the commands of a step; it ends there, or when the model has replied."""
        step.drop()
        self._execution.end_commands(step)

    def cancel(self) -> None:
        """Stop each order at its next step, and kill the running commands."""
        self._execution.cancelled.set()
        until = time.monotonic() + _PATIENCE_SECONDS
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < until:
                end_all()  # repeated, because a command may have been about to start
                thread.join(timeout=_LOOK_EVERY_SECONDS)

    def _run(self, step: Step, future: Future[Making]) -> None:
        try:
            future.set_result(self._execution.run(step))
        except BaseException as error:
            future.set_exception(error)
