"""Takes the steps of orders behind one small protocol, so that this process need not do so itself.

The protocol is like `concurrent.futures`: a step goes in, a future comes out. A step names the
order and a commit; its outcome names a commit that the repo can find. Taking a step twice is
harmless: equal work has an equal key, and only the coordinator lands anything.
"""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import Future, InvalidStateError
from typing import Protocol

from factory.attempt.state import first_state
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

        Called again until the future is done: a command may have been about to start. Afterwards
        another step of the order may be submitted.
        """

    def cancel(self) -> None:
        """End the running steps; their futures may never be done."""


class LocalWorker:
    """Take steps in this process: at once with one job, else each in a thread."""

    def __init__(self, execution: Execution, jobs: int) -> None:
        self._execution = execution
        self._jobs = jobs
        self._threads: list[threading.Thread] = []
        self._futures: dict[Step, Future[Making]] = {}
        """The futures of the steps that are running."""
        self._let_go: set[Step] = set()
        """Dropped steps that still wait for a model; each has a thread and a workbench."""
        self._lock = threading.Lock()

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
        self._futures[step] = future
        thread.start()
        return future

    def drop(self, step: Step) -> None:
        """Kill the commands of a step, or let it go where it waits for a model.

        The reply is paid for, so it is recorded when it comes, but nothing waits for it. No more
        steps are let go at a time than there are jobs: others end when their model has replied.
        """
        waits_for_model = step.drop()
        if not waits_for_model:
            self._execution.end_commands(step)
            return
        with self._lock:
            future = self._futures.get(step)
            if future is None or len(self._let_go) == self._jobs:
                return
            self._let_go.add(step)
        _settle(future, step.making or Making(first_state()))

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
            _settle(future, self._execution.run(step))
        except BaseException as error:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(error)
        finally:
            with self._lock:
                del self._futures[step]
                self._let_go.discard(step)


def _settle(future: Future[Making], making: Making) -> None:
    with contextlib.suppress(InvalidStateError):  # the step was let go
        future.set_result(making)
