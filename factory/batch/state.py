"""Where each order of a run stands: a state machine, projected from the run's journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from factory.journal import Entry, Step


class OrderState(StrEnum):
    """What is being done to an order."""

    INIT = "INIT"
    GENERATING = "GENERATING"
    TESTING = "TESTING"
    PATCHING = "PATCHING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


_INIT, _GENERATING, _TESTING, _PATCHING, _SUCCESS, _FAILED = OrderState

# An order that is sent back to be made on the tip begins anew; one that landed before is done.
TRANSITIONS: Mapping[OrderState, frozenset[OrderState]] = {
    _INIT: frozenset({_GENERATING, _PATCHING, _SUCCESS, _FAILED}),
    _GENERATING: frozenset({_TESTING, _PATCHING, _FAILED, _INIT}),
    _TESTING: frozenset({_SUCCESS, _PATCHING, _FAILED, _INIT}),
    _PATCHING: frozenset({_TESTING, _PATCHING, _FAILED, _INIT}),
    _SUCCESS: frozenset(),
    _FAILED: frozenset(),
}


class IllegalTransition(ValueError):
    """The journal tells of a step that cannot follow the one before."""


@dataclass(slots=True)
class OrderStatus:
    """One order as far as the run has come. `doing` is the stage under way."""

    id: str
    title: str
    state: OrderState = OrderState.INIT
    attempts: int = 0
    doing: str = ""
    last_failure: str = ""
    commit: str = ""
    skipped: bool = False
    usage: Mapping[str, Any] | None = None


@dataclass(slots=True)
class RunStatus:
    """A run as far as it has come; `ended` says that it came to an end of its own."""

    run_id: str
    pid: int
    branch: str
    base: str
    folder: str
    started: str
    orders: dict[str, OrderStatus] = field(default_factory=dict)
    ended: bool = False


def project(entries: Iterable[Entry]) -> RunStatus | None:
    """Return the status that a journal tells of, `None` where there was no run.

    Raises `IllegalTransition` where it tells of what cannot be.
    """
    status: RunStatus | None = None
    for entry in entries:
        status = advance(status, entry)
    return status


def advance(status: RunStatus | None, entry: Entry) -> RunStatus:
    """Return the status after one more record."""
    facts = entry.facts
    if entry.step is Step.RUN_BEGUN:
        return _begun(facts)
    if status is None:
        raise IllegalTransition(f"{entry.step} before any run began")
    match entry.step:
        case Step.RUN_ENDED:
            status.ended = True
        case Step.WORKSPACE_OPENING | Step.WORKSPACE_OPENED | Step.LANDING:
            pass
        case _:
            order = status.orders.setdefault(
                facts["order"], OrderStatus(facts["order"], facts.get("title", ""))
            )
            _advance_order(order, entry)
    return status


def _begun(facts: Mapping[str, Any]) -> RunStatus:
    status = RunStatus(
        run_id=facts["run_id"],
        pid=facts["pid"],
        branch=facts["branch"],
        base=facts["base"],
        folder=facts["folder"],
        started=facts["started"],
    )
    for each in facts.get("orders", ()):
        status.orders[each["id"]] = OrderStatus(each["id"], each["title"])
    return status


def _advance_order(order: OrderStatus, entry: Entry) -> None:
    facts = entry.facts
    match entry.step:
        case Step.ORDER_BEGUN:
            _move(order, OrderState.INIT)
        case Step.STAGE:
            order.doing = facts["stage"]
            order.attempts = max(order.attempts, facts["attempt"])
            if facts["stage"] == "propose":
                first = facts["attempt"] == 1
                _move(order, OrderState.GENERATING if first else OrderState.PATCHING)
            elif facts["stage"] == "verify":
                _move(order, OrderState.TESTING)
        case Step.ATTEMPT_FAILED:
            order.last_failure = facts["stage"]
        case Step.LANDED:
            order.commit = facts["commit"]
            order.skipped = bool(facts.get("skipped"))
            order.doing = ""
            _move(order, OrderState.SUCCESS)
        case Step.ORDER_ENDED:
            order.doing = ""
            order.usage = facts.get("usage")
            if facts["verdict"] != "PASS":
                order.last_failure = facts.get("failure") or order.last_failure
                _move(order, OrderState.FAILED)
        case _:
            raise IllegalTransition(f"{entry.step} is no step of an order")


def _move(order: OrderStatus, state: OrderState) -> None:
    if state is not order.state:
        if state not in TRANSITIONS[order.state]:
            raise IllegalTransition(f"{order.id}: {order.state} is not followed by {state}")
        order.state = state
