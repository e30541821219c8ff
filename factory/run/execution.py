"""Takes the steps of orders, each in a workbench."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from factory.attempt import attempt_graph, judge_attempt
from factory.attempt.apply_proposal import DoesNotFit
from factory.attempt.attempt_state import FactoryState, Run, Step, first_state
from factory.judging.failure_brief import brief_of
from factory.judging.proof import verified_by
from factory.judging.run_checks import verification_of
from factory.orders.documents import AttemptRecord
from factory.orders.stages import Stage
from factory.orders.task import Errored, OrderResult, OrderTask, Passed
from factory.record.progress import AttemptProgress
from factory.record.runs_on_record import set_aside
from factory.workbench.pool import Workbench
from shared.errors import Interrupted, LlmchError
from shared.events.events import Emit, Event
from shared.files.atomic_io import write_json
from shared.llm.model_client import Completion, LlmClient, Request
from shared.llm.usage import usage_record


def prepare_graph() -> None:
    """Import and compile the graph, so that the first order does not have to wait for it.

    An error here is ignored, because it comes again where the graph is needed. The interpreter may
    also end in the middle of the import when a run ends early.
    """
    with contextlib.suppress(Exception):
        attempt_graph.build_resumable_graph()


@dataclass(frozen=True, slots=True)
class OrderProgress:
    """Hold how far an order has come: everything that its next step goes on from.

    `result` is how the attempts ended. `unfit` says why the proposal cannot be judged on the commit
    that it was to follow, so that the order has to be made again there.
    """

    state: FactoryState
    result: OrderResult | None = None
    unfit: str = ""

    @property
    def is_proposed(self) -> bool:
        return self.result is None and self.state["attempt"].waits_for_parent


def _announce_nowhere(commit: str) -> None:
    """Ignore a commit for which no other order waits."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Describe one step of an order, for whoever takes it.

    Without a `parent`, the model is asked for the next proposal, on the order's base. With one, the
    proposal that `made` holds is judged on that commit; `announce` takes the id of the order's own
    commit before a command runs. `drops` is how often the order was dropped before.
    """

    task: OrderTask
    made: OrderProgress | None = None
    parent: str = ""
    announce: Callable[[str], None] = _announce_nowhere
    drops: int = 0
    dropped: threading.Event = field(default_factory=threading.Event)
    reporting: threading.Lock = field(default_factory=threading.Lock)
    """Held while the step reports its progress."""
    asking: threading.Event = field(default_factory=threading.Event)
    """Set while the step waits for a model."""

    def drop(self) -> bool:
        """Drop the step: nobody wants its outcome, and it reports no progress after this.

        Return whether the step waits for a model. It then leaves the order's records alone, even
        after the reply, so that another step of the order can be taken meanwhile.
        """
        with self.reporting:
            self.dropped.set()
            return self.asking.is_set()

    @contextlib.contextmanager
    def waiting_for_model(self) -> Iterator[None]:
        """Mark the step as waiting for a model while the block runs.

        Raises `Interrupted` if the step was dropped before or meanwhile, whatever the model did.
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
class DroppableClient:
    """Ask a model for a step. If nobody wants the reply any more, it is only recorded."""

    assignment: Assignment
    inner: LlmClient

    def complete(self, request: Request) -> Completion:
        """Return the reply of `inner`; raise `Interrupted` if the step is dropped until then."""
        with self.assignment.waiting_for_model():
            return self.inner.complete(request)


@dataclass(slots=True)
class _Walk:
    step: Step
    state: FactoryState

    def finish(self) -> None:
        for state in attempt_graph.walk_graph(self.step, self.state):
            self.state = state


@dataclass(slots=True)
class Execution:
    """Take steps of orders in a run. Several threads may use it."""

    run: Run
    cancelled: threading.Event = field(default_factory=threading.Event)
    _walks: dict[str, _Walk] = field(default_factory=dict)
    _ended: dict[str, tuple[AttemptRecord, ...]] = field(default_factory=dict)
    _lent: dict[Assignment, Workbench] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def make(self, task: OrderTask) -> OrderResult:
        """Make the order on its base, all steps in turn, and return how its attempts ended."""
        made = self.take(Assignment(task))
        while made.result is None:
            parent = task.base if made.is_proposed else ""
            made = self.take(Assignment(task, made, parent))
        return made.result

    def take(self, assignment: Assignment) -> OrderProgress:
        """Take one step of an order and return how far the order has come.

        An error that ends the whole run (budget, authentication, a full disk) becomes an `Errored`
        verdict with that error. A step that was dropped leaves the order where it was.
        """
        task = assignment.task
        state = assignment.made.state if assignment.made else first_state()
        candidates: list[str] = []

        def announce(commit: str) -> None:
            candidates.append(commit)
            assignment.announce(commit)

        self._ended.pop(task.name, None)
        try:
            if assignment.drops and assignment.parent:
                set_aside(task.folder, state["attempt"].number, assignment.drops)
            with self.run.pool.lend(assignment.parent or task.base) as bench:
                walk = _Walk(self._step(assignment, bench, announce), state)
                self._walks[task.name] = walk
                with self._lent_to(assignment, bench):
                    walk.finish()
                # Trial runs beside the model's call restore the tree that they use.
                bench.used = bool(assignment.parent) or walk.state["attempt"].touched
        except DoesNotFit as unfit:
            return OrderProgress(state, unfit=str(unfit))
        except LlmchError as error:
            if assignment.dropped.is_set():
                return OrderProgress(state)
            records = self.end(task.name, error.message)
            return OrderProgress(state, OrderResult(Errored(error.message, error), records))
        finally:
            for each in candidates:
                self.run.known.give_up(each)
        state = walk.state
        return OrderProgress(state, self._result(task, state) if state["verdict"] else None)

    def end_commands(self, assignment: Assignment) -> None:
        """Kill the commands that run in a step, if it is still running."""
        with self._lock:
            if bench := self._lent.get(assignment):
                bench.sandbox.end_commands()

    @contextlib.contextmanager
    def _lent_to(self, assignment: Assignment, bench: Workbench) -> Iterator[None]:
        """Record which workbench a step has, so that no commands of another step are killed."""
        self._lent[assignment] = bench
        try:
            yield
        finally:
            with self._lock:
                del self._lent[assignment]

    def _result(self, task: OrderTask, state: FactoryState) -> OrderResult:
        verdict, evidence = state["verdict"], state["evidence"]
        assert verdict is not None, "only an order that has ended has a result"
        flags = evidence.flags() if evidence else ()
        records = self.end(task.name, "")
        proof = None
        if records and isinstance(verdict, Passed):
            last = records[-1]
            proof = verified_by(last.verify, last.acceptance, last.exempt, last.strength)
        return OrderResult(verdict, records, flags, proof)

    def _step(
        self, assignment: Assignment, bench: Workbench, announce: Callable[[str], None]
    ) -> Step:
        task = assignment.task
        return Step(
            run=self.run,
            task=task,
            parent=assignment.parent or task.base,
            bench=bench,
            client=DroppableClient(assignment, self.run.model.client),
            verification=verification_of(
                bench.workspace, self.run.options.settings.verify, task.exemption
            ),
            emit=self._emit_of(assignment),
            progress=self._progress(assignment),
            announce=announce,
        )

    def end(self, order: str, cause: str) -> tuple[AttemptRecord, ...]:
        """End an order's attempts and return their records.

        An attempt that is still running gets a brief with `cause`, which is also written to its
        folder. The records of an order that has ended stay as they are.
        """
        with self._lock:
            walk = self._walks.pop(order, None)
            if walk is not None:
                self._ended[order] = _end_attempts(walk, cause)
            return self._ended.get(order, ())

    def _emit_of(self, assignment: Assignment) -> Emit:
        """Return the function that announces a step's events until its outcome is unwanted."""

        def emit(event: Event) -> None:
            if not assignment.dropped.is_set():
                self.run.emit(event)

        return emit

    def _progress(self, assignment: Assignment) -> AttemptProgress:
        order = assignment.task.name
        return AttemptProgress(
            order=order,
            journal=self.run.journal,
            emit=self.run.emit,
            is_cancelled=lambda: self.cancelled.is_set() or assignment.dropped.is_set(),
            usage=lambda: usage_record(self.run.model.meter.of_order(order)),
            reporting=assignment.reporting,
        )


def _end_attempts(walk: _Walk, cause: str) -> tuple[AttemptRecord, ...]:
    step, state = walk.step, walk.state
    if state["verdict"] is not None:
        return state["records"]
    attempt = state["attempt"]
    if attempt.brief is None:
        attempt = replace(
            attempt, brief=brief_of(Stage.EXCEPTION, step.order, cause or "no reason was given")
        )
    with contextlib.suppress(LlmchError):  # the order's error matters more than the disk's
        folder = step.attempt_folder(attempt)
        document = attempt.brief.model_dump(mode="json") if attempt.brief else {}
        write_json(folder / "failure_brief.json", document, sync=False)
    return (*state["records"], judge_attempt.attempt_record(attempt, step))
