"""Projects a run's journal to where each of its orders stands. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from factory.orders.documents import AttemptStage, UsageRecord
from factory.record.journal_entries import (
    Entry,
    FailedAttempt,
    FailureFacts,
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
from shared.run_record import Ending


class OrderActivity(StrEnum):
    """What is being done to an order, as the steps in the journal tell it.

    Where an order stands in the schedule (`OrderState`) is another question: the schedule also
    knows the orders that no step has been taken for, and the journal tells what an order that
    runs is doing.
    """

    INIT = "INIT"
    GENERATING = "GENERATING"
    TESTING = "TESTING"
    PATCHING = "PATCHING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


_INIT, _GENERATING, _TESTING, _PATCHING, _SUCCESS, _FAILED = OrderActivity

# An order that is sent back to be made on the tip begins anew; one that landed before is done.
TRANSITIONS: Mapping[OrderActivity, frozenset[OrderActivity]] = {
    _INIT: frozenset({_GENERATING, _PATCHING, _SUCCESS, _FAILED}),
    _GENERATING: frozenset({_TESTING, _PATCHING, _FAILED, _INIT}),
    _TESTING: frozenset({_SUCCESS, _PATCHING, _FAILED, _INIT}),
    _PATCHING: frozenset({_TESTING, _PATCHING, _FAILED, _INIT}),
    _SUCCESS: frozenset(),
    _FAILED: frozenset(),
}


class IllegalTransition(ValueError):
    """The journal reports a step that cannot follow the one before."""


@dataclass(frozen=True, slots=True)
class OrderStatus:
    """One order as far as the run has come.

    `doing` is the stage under way, or where the order was stopped; `failed_attempt` is the last
    attempt that failed, 0 where none did.
    """

    id: str
    title: str
    state: OrderActivity = OrderActivity.INIT
    attempts: int = 0
    max_attempts: int | None = None
    doing: AttemptStage | None = None
    failed_attempt: int = 0
    failure: FailureFacts | None = None
    commit: str = ""
    skipped: bool = False
    usage: UsageRecord | None = None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run as far as it has come; `ended` says that it came to an end of its own.

    `ending` says how it ended where the journal does.
    """

    run_id: str
    pid: int
    branch: str
    base: str
    folder: str
    started: str
    orders: Mapping[str, OrderStatus]
    ended: bool = False
    ending: Ending | None = None


class RunProjection:
    """Follows a journal record by record; what it returns does not change any more."""

    def __init__(self) -> None:
        self._run: RunStatus | None = None
        self._orders: dict[str, OrderStatus] = {}

    @property
    def status(self) -> RunStatus | None:
        """The status as far as the journal was followed, `None` where no run has begun."""
        return None if self._run is None else replace(self._run, orders=dict(self._orders))

    def take(self, entry: Entry) -> None:
        """Follow one more record. Raises `IllegalTransition` where it cannot be."""
        if isinstance(entry, RunBegun):
            self._run = _begun(entry)
            self._orders = dict(self._run.orders)
            return
        if self._run is None:
            raise IllegalTransition(f"{entry.step} before any run began")
        match entry:
            case RunConcluded(ending=ending):
                self._run = replace(self._run, ended=True, ending=ending)
            case WorkspaceOpening() | WorkspaceOpened() | LandingBegun():
                pass
            case (
                OrderBegun(order=name)
                | StageBegun(order=name)
                | FailedAttempt(order=name)
                | OrderLanded(order=name)
                | OrderConcluded(order=name)
                | OrderStopped(order=name)
            ):
                before = self._orders.get(name) or OrderStatus(name, "")
                self._orders[name] = _advance_order(before, entry)
            case _:
                assert_never(entry)


def project(entries: Iterable[Entry]) -> RunStatus | None:
    """Return the status that a journal tells of, `None` where there was no run.

    Raises `IllegalTransition` where it tells of what cannot be.
    """
    projection = RunProjection()
    for entry in entries:
        projection.take(entry)
    return projection.status


def _begun(entry: RunBegun) -> RunStatus:
    return RunStatus(
        run_id=entry.run_id,
        pid=entry.pid,
        branch=entry.branch,
        base=entry.base,
        folder=str(entry.folder),
        started=entry.started,
        orders={each.id: OrderStatus(each.id, each.title) for each in entry.orders},
    )


def _advance_order(
    order: OrderStatus,
    entry: OrderBegun | StageBegun | FailedAttempt | OrderLanded | OrderConcluded | OrderStopped,
) -> OrderStatus:
    match entry:
        case OrderBegun(max_attempts=max_attempts):
            return replace(
                _moved(order, OrderActivity.INIT),
                max_attempts=max_attempts,
                attempts=0,
                doing=None,
                failed_attempt=0,
                failure=None,
            )
        case StageBegun(attempt=attempt, stage=stage, usage=usage):
            return replace(
                _moved(order, _activity_in(stage, attempt) or order.state),
                doing=stage,
                attempts=max(order.attempts, attempt),
                usage=usage or order.usage,
            )
        case FailedAttempt(attempt=attempt, failure=failure, usage=usage):
            return replace(
                order, failed_attempt=attempt, failure=failure, usage=usage or order.usage
            )
        case OrderLanded(commit=commit, skipped=skipped):
            return replace(
                _moved(order, OrderActivity.SUCCESS), commit=commit, skipped=skipped, doing=None
            )
        case OrderConcluded(verdict="PASS", usage=usage):
            return replace(order, doing=None, usage=usage)
        case OrderConcluded(failure=failure, usage=usage):
            return replace(
                _moved(order, OrderActivity.FAILED),
                doing=None,
                failed_attempt=order.attempts,
                failure=failure or order.failure,
                usage=usage,
            )
        case OrderStopped(usage=usage):
            return replace(order, usage=usage)
        case _:
            assert_never(entry)


def _activity_in(stage: AttemptStage, attempt: int) -> OrderActivity | None:
    """Return what a stage means for the order; `None` where it goes on with what it was doing."""
    match stage:
        case AttemptStage.PROPOSE:
            return OrderActivity.GENERATING if attempt == 1 else OrderActivity.PATCHING
        case AttemptStage.VERIFY:
            return OrderActivity.TESTING
        case AttemptStage.APPLY | AttemptStage.CONTRACT | AttemptStage.ACCEPT | AttemptStage.COMMIT:
            return None
        case _:
            assert_never(stage)


def _moved(order: OrderStatus, state: OrderActivity) -> OrderStatus:
    if state is order.state:
        return order
    if state not in TRANSITIONS[order.state]:
        raise IllegalTransition(f"{order.id}: {order.state} is not followed by {state}")
    return replace(order, state=state)
