"""Makes an order on its base: a bench, the graph, a verdict. Nothing lands here."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from factory.benches import Benches
from factory.commit_facts import describe_commit
from factory.journal import Journal, Step
from factory.options import RunOptions
from factory.state import FactoryContext
from factory.task import OrderResult, OrderTask
from factory.verdict import Errored
from factory.warm_checker import WarmChecker
from shared.errors import Interrupted, LlmchError
from shared.events import AttemptFailed, Emit, Event, StageStarted
from shared.llm.client import LlmClient


@dataclass(slots=True)
class Execution:
    """What making an order takes, the same for all orders of a run. Safe for threads."""

    options: RunOptions
    benches: Benches
    client: LlmClient
    checker: WarmChecker
    journal: Journal
    emit: Emit
    date: str
    cancelled: threading.Event = field(default_factory=threading.Event)

    def make(self, task: OrderTask) -> OrderResult:
        """Run the order's attempts on its base and return how they ended.

        What ends the whole run (budget, authentication, a full disk) is an `Errored` verdict with
        that error.
        """
        from factory.graph import run_attempts

        try:
            with self.benches.lend(task.base) as bench:
                state = run_attempts(
                    FactoryContext(
                        order=task.loaded.order,
                        known=task.loaded.known,
                        binding=task.loaded.binding,
                        checker=self.checker,
                        bench=bench,
                        client=self.client,
                        models=self.options.models,
                        emit=self._watched,
                        folder=task.folder,
                        max_attempts=self.options.settings.factory_attempts,
                        timeout_seconds=self.options.settings.timeout_seconds,
                        retry_flaky=self.options.retry_flaky,
                        exempt=task.exempt,
                        strict_acceptance=self.options.settings.strict_acceptance,
                        patience_seconds=self.options.patience_seconds,
                        commit_facts=describe_commit(task.loaded.order, task.identity, self.date),
                        path_names=bench.path_names(),
                        cancelled=self.cancelled,
                    )
                )
        except LlmchError as error:
            return OrderResult(Errored(error.message, error), ())
        assert state["verdict"] is not None, "the graph ends only with a verdict"
        evidence = state["evidence"]
        flags = evidence.flags() if evidence else ()
        return OrderResult(state["verdict"], state["records"], flags)

    def _watched(self, event: Event) -> None:
        """Keep the journal of stages, and stop where the run was cancelled."""
        if self.cancelled.is_set():
            raise Interrupted("cancelled")
        match event:
            case StageStarted(order, attempt, stage):
                self.journal.record(Step.STAGE, order=order, attempt=attempt, stage=stage)
            case AttemptFailed(order, attempt, stage):
                self.journal.record(
                    Step.ATTEMPT_FAILED, order=order, attempt=attempt, stage=str(stage)
                )
            case _:
                pass
        self.emit(event)
