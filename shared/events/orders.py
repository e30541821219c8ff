"""Defines what happens to a work order as a whole, and to all orders of a manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shared.events.event import Event


@dataclass(frozen=True, slots=True)
class OrderStarted(Event):
    """Report that a work order begins on `branch` at `baseline`."""

    kind: ClassVar[str] = "order_started"
    order: str
    title: str
    branch: str
    baseline: str
    max_attempts: int


@dataclass(frozen=True, slots=True)
class CandidateCoupled(Event):
    """Report that an order's commit is being judged on `parent`, before all before it has landed.

    `ahead` are the orders whose commits `parent` has and that may still fail; then the order is
    judged again.
    """

    kind: ClassVar[str] = "candidate_coupled"
    order: str
    commit: str
    parent: str
    ahead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateDropped(Event):
    """Report that an order is judged again, because `because` did not land as it was expected."""

    kind: ClassVar[str] = "candidate_dropped"
    order: str
    because: str


@dataclass(frozen=True, slots=True)
class OrderEnded(Event):
    """Report that a work order is over.

    `verdict` is PASS, FAIL or ERROR; `commit` is empty where there is no commit. `proof` says in
    one line which commands and tests speak for the commit.
    """

    kind: ClassVar[str] = "order_ended"
    order: str
    verdict: str
    attempts: int
    commit: str
    branch: str
    seconds: float
    files: tuple[str, ...]
    repo: str = ""
    run_dir: str = ""
    proof: str = ""


@dataclass(frozen=True, slots=True)
class OrderSkipped(Event):
    """Report that an order is skipped because it has landed on this branch before."""

    kind: ClassVar[str] = "order_skipped"
    order: str
    title: str
    commit: str


@dataclass(frozen=True, slots=True)
class BatchStarted(Event):
    """Report that the execution of a manifest's orders on one branch begins."""

    kind: ClassVar[str] = "batch_started"
    orders: int
    branch: str
    base: str


@dataclass(frozen=True, slots=True)
class BatchEnded(Event):
    """Report that the execution of a manifest's orders is over.

    `next_step` says what to do where not all orders are on the branch, which is in `repo` or, where
    no clone of the person has it, on `remote`.
    """

    kind: ClassVar[str] = "batch_ended"
    verdict: str
    branch: str
    tip: str
    landed: int
    orders: int
    seconds: float
    repo: str = ""
    run_dir: str = ""
    next_step: str = ""
    remote: str = ""
