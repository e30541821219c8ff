"""Projects a run's journal to the status of each of its orders. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

from factory.orders.stages import AttemptStage, Failure
from factory.record.journal_entries import (
    CandidateCoupled,
    CandidateDropped,
    Entry,
    FailedAttempt,
    LandingBegun,
    OrderBegun,
    OrderConcluded,
    OrderLanded,
    OrderStopped,
    RunBegun,
    RunConcluded,
    StageBegun,
    WorkspaceOpened,
    WorkspaceOpening,
)
from shared.events.events import Ending
from shared.llm.usage import UsageRecord


class OrderActivity(StrEnum):
    """Say what is being done to an order, according to the steps in the journal.

    The state of an order in the schedule is something else (`OrderState`). The schedule also knows
    the orders that have not begun; the journal says what a running order is doing.
    """

    INIT = "INIT"
    GENERATING = "GENERATING"
    TESTING = "TESTING"
    PATCHING = "PATCHING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


_INIT, _GENERATING, _TESTING, _PATCHING, _SUCCESS, _FAILED = OrderActivity

# An order that has to be made again, on a newer base, returns to INIT. One whose candidate is
# dropped has a proposal: it goes on from GENERATING, or from PATCHING where an attempt before that
# proposal was refused. An order that an earlier run landed goes from INIT to SUCCESS.
TRANSITIONS: Mapping[OrderActivity, frozenset[OrderActivity]] = {
    _INIT: frozenset({_GENERATING, _PATCHING, _SUCCESS, _FAILED}),
    _GENERATING: frozenset({_TESTING, _PATCHING, _FAILED, _INIT}),
    _TESTING: frozenset({_SUCCESS, _PATCHING, _FAILED, _INIT, _GENERATING}),
    _PATCHING: frozenset({_TESTING, _PATCHING, _FAILED, _INIT, _GENERATING}),
    _SUCCESS: frozenset(),
    _FAILED: frozenset(),
}


class IllegalTransition(ValueError):
    """Report that the journal holds a step that cannot follow the step before."""


@dataclass(frozen=True, slots=True)
class OrderStatus:
    """Describe the progress of one order in the run.

    `doing` is the current stage, or the stage at which the order was stopped. `failed_attempt` is
    the number of the last attempt that failed, 0 if none did. `proof` says in one line what
    verified the commit, as far as the journal says it. `key` is the hash of the order's work, "" in
    the journal of an older version.
    """

    id: str
    title: str
    key: str = field(default="", kw_only=True)
    state: OrderActivity = OrderActivity.INIT
    attempts: int = 0
    max_attempts: int | None = None
    doing: AttemptStage | None = None
    failed_attempt: int = 0
    failure: Failure | None = None
    candidate: CandidateCoupled | None = None
    """The commit that is judged, or that waits for its turn to land."""
    commit: str = ""
    skipped: bool = False
    proof: str = ""
    usage: UsageRecord | None = None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Describe the progress of a run.

    `ended` is true if the journal records the end of the run. `ending` says how the run ended,
    `None` if the journal does not say so.
    """

    run_id: str
    branch: str
    base: str
    folder: str
    started: str
    orders: Mapping[str, OrderStatus]
    plan: str = field(default="", kw_only=True)
    """The hash of the oldest plan that the orders go back to, "" if they have none."""
    transcript: str = field(default="", kw_only=True)
    replayed: bool = field(default=False, kw_only=True)
    """Whether the replies come from the transcript alone."""
    ended: bool = False
    ending: Ending | None = None


class RunProjection:
    """Follow a journal record by record. A returned status never changes afterwards."""

    def __init__(self) -> None:
        self._run: RunStatus | None = None
        self._orders: dict[str, OrderStatus] = {}

    @property
    def status(self) -> RunStatus | None:
        """Return the status after the records so far, `None` if no run has begun."""
        return None if self._run is None else replace(self._run, orders=dict(self._orders))

    def take(self, entry: Entry) -> None:
        """Follow one more record. Raises `IllegalTransition` if it cannot follow those before."""
        if isinstance(entry, RunBegun):
            self._run = _begun(entry)
            self._orders = dict(self._run.orders)
            return
        if self._run is None:
            raise IllegalTransition(f"the step {entry.step} is recorded before any run began")
        match entry:
            case RunConcluded(ending=ending):
                self._run = replace(self._run, ended=True, ending=ending)
            case WorkspaceOpening() | WorkspaceOpened() | LandingBegun():
                pass
            case (
                OrderBegun(order=name)
                | StageBegun(order=name)
                | FailedAttempt(order=name)
                | CandidateCoupled(order=name)
                | CandidateDropped(order=name)
                | OrderLanded(order=name)
                | OrderConcluded(order=name)
                | OrderStopped(order=name)
            ):
                before = self._orders.get(name) or OrderStatus(name, "")
                self._orders[name] = _advance_order(before, entry)
            case _:
                assert_never(entry)


def project(entries: Iterable[Entry]) -> RunStatus | None:
    """Return the status of the run that a journal records, `None` if it records none.

    Raises `IllegalTransition` if the journal holds a step that cannot follow the step before.
    """
    projection = RunProjection()
    for entry in entries:
        projection.take(entry)
    return projection.status


def _begun(entry: RunBegun) -> RunStatus:
    return RunStatus(
        run_id=entry.run_id,
        branch=entry.branch,
        base=entry.base,
        folder=str(entry.folder),
        started=entry.started,
        orders={each.id: OrderStatus(each.id, each.title, key=each.key) for each in entry.orders},
        plan=entry.plan,
        transcript=str(entry.transcript),
        replayed=entry.replayed,
    )


def _advance_order(
    order: OrderStatus,
    entry: OrderBegun
    | StageBegun
    | FailedAttempt
    | CandidateCoupled
    | CandidateDropped
    | OrderLanded
    | OrderConcluded
    | OrderStopped,
) -> OrderStatus:
    match entry:
        case OrderBegun(max_attempts=max_attempts):
            return _afresh(order, OrderActivity.INIT, attempts=0, max_attempts=max_attempts)
        case StageBegun(attempt=attempt, stage=stage, usage=usage):
            return replace(
                order,
                state=_next(order, _activity_in(stage, attempt) or order.state),
                doing=stage,
                attempts=max(order.attempts, attempt),
                usage=usage or order.usage,
            )
        case FailedAttempt(attempt=attempt, failure=failure, usage=usage):
            return replace(
                order,
                candidate=None,
                failed_attempt=attempt,
                failure=failure,
                usage=usage or order.usage,
            )
        case CandidateCoupled():
            return replace(order, candidate=entry)
        case CandidateDropped(attempt=attempt, failure=failure):
            proposed = _activity_in(AttemptStage.PROPOSE, attempt) or order.state
            attempts, maximum = min(order.attempts, attempt), order.max_attempts
            again = _afresh(order, proposed, attempts=attempts, max_attempts=maximum)
            return replace(again, failed_attempt=attempt - 1, failure=failure)
        case OrderLanded() | OrderConcluded():
            return _end_order(order, entry)
        case OrderStopped(usage=usage):
            return replace(order, usage=usage)
        case _:
            assert_never(entry)


def _afresh(
    order: OrderStatus, state: OrderActivity, *, attempts: int, max_attempts: int | None
) -> OrderStatus:
    """Return the order with no failure and no candidate, and so many attempts begun."""
    return replace(
        order,
        state=_next(order, state),
        candidate=None,
        attempts=attempts,
        max_attempts=max_attempts,
        doing=None,
        failed_attempt=0,
        failure=None,
    )


def _end_order(order: OrderStatus, entry: OrderLanded | OrderConcluded) -> OrderStatus:
    match entry:
        case OrderLanded(commit=commit, skipped=skipped, proof=proof):
            return replace(
                order,
                state=_next(order, OrderActivity.SUCCESS),
                candidate=None,
                doing=None,
                commit=commit,
                skipped=skipped,
                proof=proof,
            )
        case OrderConcluded(verdict="PASS", usage=usage):
            return replace(order, candidate=None, doing=None, usage=usage)
        case OrderConcluded(failure=failure, usage=usage):
            return replace(
                order,
                state=_next(order, OrderActivity.FAILED),
                candidate=None,
                doing=None,
                failed_attempt=order.attempts,
                failure=failure or order.failure,
                usage=usage,
            )


def _activity_in(stage: AttemptStage, attempt: int) -> OrderActivity | None:
    """Return the activity that begins with a stage; `None` if the activity stays the same."""
    match stage:
        case AttemptStage.PROPOSE:
            return OrderActivity.GENERATING if attempt == 1 else OrderActivity.PATCHING
        case AttemptStage.VERIFY:
            return OrderActivity.TESTING
        case AttemptStage.APPLY | AttemptStage.CONTRACT | AttemptStage.ACCEPT | AttemptStage.COMMIT:
            return None
        case _:
            assert_never(stage)


def _next(order: OrderStatus, state: OrderActivity) -> OrderActivity:
    """Return `state`. Raises `IllegalTransition` if it cannot follow the order's own."""
    if state is not order.state and state not in TRANSITIONS[order.state]:
        raise IllegalTransition(f"{order.id}: {state} cannot follow {order.state}")
    return state
