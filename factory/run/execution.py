"""Makes an order on its base, in a workbench, by the graph of attempts. Nothing lands here."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field, replace

from factory.attempt.state import FactoryContext, FactoryState, first_state
from factory.judging.brief import brief_of
from factory.judging.known_commits import KnownCommits
from factory.judging.proof import verified_by
from factory.judging.verification import verification_of
from factory.orders.documents import AttemptRecord
from factory.orders.stages import Stage
from factory.orders.task import OrderResult, OrderTask
from factory.orders.verdict import Errored, Passed
from factory.record.progress import AttemptProgress
from factory.record.summary import usage_record
from factory.run.parts import RunParts
from factory.workbench.pool import WorkbenchPool
from shared.errors import LlmchError
from shared.files.atomic_io import write_json
from shared.languages.capabilities.tools import Tools


@dataclass(slots=True)
class _UnderWay:
    """Hold the attempts of one order as far as they have come."""

    context: FactoryContext
    state: FactoryState


@dataclass(slots=True)
class Execution:
    """Make orders, with what all orders of a run share. Several threads may use it."""

    parts: RunParts
    pool: WorkbenchPool
    tools: Tools
    known: KnownCommits
    cancelled: threading.Event = field(default_factory=threading.Event)
    _under_way: dict[str, _UnderWay] = field(default_factory=dict)
    _ended: dict[str, tuple[AttemptRecord, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def make(self, task: OrderTask) -> OrderResult:
        """Run the order's attempts on its base and return how they ended.

        An error that ends the whole run (budget, authentication, a full disk) becomes an `Errored`
        verdict with that error.
        """
        from factory.attempt.graph import attempt_states

        self._ended.pop(task.name, None)
        try:
            with self.pool.lend(task.base) as bench:
                context = FactoryContext(
                    task=task,
                    options=self.parts.options,
                    bench=bench,
                    client=self.parts.model.client,
                    tools=self.tools,
                    known=self.known,
                    verification=verification_of(
                        bench.workspace, self.parts.options.settings.verify, exempt=task.exempt
                    ),
                    emit=self.parts.emit,
                    progress=self._progress(task),
                )
                under_way = _UnderWay(context, first_state())
                self._under_way[task.name] = under_way
                for state in attempt_states(context):
                    under_way.state = state
        except LlmchError as error:
            return OrderResult(Errored(error.message, error), self.end(task.name, error.message))
        state = under_way.state
        assert state["verdict"] is not None, "the graph ends only with a verdict"
        evidence = state["evidence"]
        flags = evidence.flags() if evidence else ()
        records = self.end(task.name, "")
        proof = verified_by(records[-1].verify, records[-1].acceptance) if records else None
        passed = proof if isinstance(state["verdict"], Passed) else None
        return OrderResult(state["verdict"], records, flags, passed)

    def end(self, order: str, cause: str) -> tuple[AttemptRecord, ...]:
        """End an order's attempts and return their records.

        An attempt that is still running gets a brief with `cause`, which is also written to its
        folder. The records of an order that has ended stay as they are.
        """
        with self._lock:
            under_way = self._under_way.pop(order, None)
            if under_way is not None:
                self._ended[order] = _end_attempts(under_way, cause)
            return self._ended.get(order, ())

    def _progress(self, task: OrderTask) -> AttemptProgress:
        return AttemptProgress(
            order=task.name,
            journal=self.parts.journal,
            emit=self.parts.emit,
            cancelled=self.cancelled,
            usage=lambda: usage_record(self.parts.model.meter.of_order(task.name)),
        )


def _end_attempts(under_way: _UnderWay, cause: str) -> tuple[AttemptRecord, ...]:
    from factory.attempt.conclude import attempt_record

    context, state = under_way.context, under_way.state
    if state["verdict"] is not None:
        return state["records"]
    attempt = state["attempt"]
    if attempt.brief is None:
        attempt = replace(
            attempt, brief=brief_of(Stage.EXCEPTION, context.order, cause or "no reason was given")
        )
    with contextlib.suppress(LlmchError):  # the order's error matters more than the disk's
        folder = context.attempt_folder(attempt)
        document = attempt.brief.model_dump(mode="json") if attempt.brief else {}
        write_json(folder / "failure_brief.json", document, sync=False)
    return (*state["records"], attempt_record(attempt, context))
