"""Takes the steps of orders, each in a workbench."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from factory.attempt.apply_proposal import DoesNotFit
from factory.attempt.attempt_graph import walk_graph
from factory.attempt.attempt_state import FactoryContext, FactoryState, first_state
from factory.judging.failure_brief import brief_of
from factory.judging.proof import KnownCommits, verified_by
from factory.judging.run_checks import verification_of
from factory.orders.documents import AttemptRecord
from factory.orders.stages import Stage
from factory.orders.task import Errored, OrderResult, OrderTask, Passed, RunOptions
from factory.preflight import Repo
from factory.record.journal import Journal
from factory.record.progress import AttemptProgress
from factory.record.runs_on_record import set_aside
from factory.record.summary import usage_record
from factory.workbench.pool import Workbench, WorkbenchPool
from shared.errors import Interrupted, LlmchError
from shared.events.events import Emit, Event
from shared.events.run_record import RunFolder
from shared.files.atomic_io import write_json
from shared.languages.language_tools import Tools
from shared.llm.model_client import Completion, LlmClient, Request
from shared.llm.stack import Model


@dataclass(frozen=True, slots=True)
class RunParts:
    """Hold what a run works with from its beginning to its end, whichever orders it makes."""

    options: RunOptions
    repo: Repo
    model: Model
    folder: RunFolder
    journal: Journal
    emit: Emit


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
        return self.result is None and self.state["attempt"].waits_for_parent


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


@dataclass(slots=True)
class _UnderWay:
    """Hold the attempts of one order as far as they have come."""

    context: FactoryContext
    state: FactoryState

    def advance(self) -> None:
        """Walk the graph until it ends or is interrupted, and keep each state."""
        for state in walk_graph(self.context, self.state):
            self.state = state


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
    _lent: dict[Step, Workbench] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def make(self, task: OrderTask) -> OrderResult:
        """Make the order on its base, all steps in turn, and return how its attempts ended."""
        making = self.run(Step(task))
        while making.result is None:
            parent = task.base if making.is_proposed else ""
            making = self.run(Step(task, making, parent))
        return making.result

    def run(self, step: Step) -> Making:
        """Take one step of an order and return how far the order has come.

        An error that ends the whole run (budget, authentication, a full disk) becomes an `Errored`
        verdict with that error. A step that was dropped leaves the order where it was.
        """
        task, state = step.task, step.making.state if step.making else first_state()
        candidates: list[str] = []

        def announce(commit: str) -> None:
            candidates.append(commit)
            step.announce(commit)

        self._ended.pop(task.name, None)
        try:
            if step.drops and step.parent:
                set_aside(task.folder, state["attempt"].number, step.drops)
            with self.pool.lend(step.parent or task.base) as bench:
                under_way = _UnderWay(self._context(step, bench, announce), state)
                self._under_way[task.name] = under_way
                with self._lent_to(step, bench):
                    under_way.advance()
                # Trial runs beside the model's call restore the tree that they use.
                bench.used = bool(step.parent) or under_way.state["attempt"].touched
        except DoesNotFit as unfit:
            return Making(state, unfit=str(unfit))
        except LlmchError as error:
            if step.dropped.is_set():
                return Making(state)
            records = self.end(task.name, error.message)
            return Making(state, OrderResult(Errored(error.message, error), records))
        finally:
            for each in candidates:
                self.known.give_up(each)
        state = under_way.state
        return Making(state, self._result(task, state) if state["verdict"] else None)

    def end_commands(self, step: Step) -> None:
        """Kill the commands that run in a step, if it is still running."""
        with self._lock:
            if bench := self._lent.get(step):
                bench.sandbox.end_commands()

    @contextlib.contextmanager
    def _lent_to(self, step: Step, bench: Workbench) -> Iterator[None]:
        """Record which workbench a step has, so that no commands of another step are killed."""
        self._lent[step] = bench
        try:
            yield
        finally:
            with self._lock:
                del self._lent[step]

    def _result(self, task: OrderTask, state: FactoryState) -> OrderResult:
        verdict, evidence = state["verdict"], state["evidence"]
        assert verdict is not None, "only an order that has ended has a result"
        flags = evidence.flags() if evidence else ()
        records = self.end(task.name, "")
        proof = verified_by(records[-1].verify, records[-1].acceptance) if records else None
        return OrderResult(verdict, records, flags, proof if isinstance(verdict, Passed) else None)

    def _context(
        self, step: Step, bench: Workbench, announce: Callable[[str], None]
    ) -> FactoryContext:
        task, options = step.task, self.parts.options
        return FactoryContext(
            task=task,
            parent=step.parent or task.base,
            options=options,
            bench=bench,
            client=StepClient(step, self.parts.model.client),
            tools=self.tools,
            known=self.known,
            verification=verification_of(
                bench.workspace, options.settings.verify, exempt=task.exempt
            ),
            emit=self._emit_of(step),
            progress=self._progress(step),
            announce=announce,
        )

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

    def _emit_of(self, step: Step) -> Emit:
        """Return what announces the events of a step, until nobody wants its outcome."""

        def emit(event: Event) -> None:
            if not step.dropped.is_set():
                self.parts.emit(event)

        return emit

    def _progress(self, step: Step) -> AttemptProgress:
        order = step.task.name
        return AttemptProgress(
            order=order,
            journal=self.parts.journal,
            emit=self.parts.emit,
            is_cancelled=lambda: self.cancelled.is_set() or step.dropped.is_set(),
            usage=lambda: usage_record(self.parts.model.meter.of_order(order)),
            reporting=step.reporting,
        )


def _end_attempts(under_way: _UnderWay, cause: str) -> tuple[AttemptRecord, ...]:
    from factory.attempt.judge_attempt import attempt_record

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
