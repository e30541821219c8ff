"""Defines what happens while a spec becomes a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shared.events.event import Event


@dataclass(frozen=True, slots=True)
class PlanStarted(Event):
    """Report that the planner begins to compile a spec."""

    kind: ClassVar[str] = "plan_started"
    spec: str
    run_id: str
    max_attempts: int


@dataclass(frozen=True, slots=True)
class PlanAttemptStarted(Event):
    """Report that the planner asks the model for the `attempt`-th time."""

    kind: ClassVar[str] = "plan_attempt_started"
    attempt: int


@dataclass(frozen=True, slots=True)
class PlanJudged(Event):
    """Report that the rules judged a plan; `findings` are texts, `CODE WO-NN field: message`."""

    kind: ClassVar[str] = "plan_judged"
    attempt: int
    work_orders: int
    errors: int
    warnings: int
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanRepaired(Event):
    """Report that faults with one certain remedy were fixed without a model; `fixes` are texts."""

    kind: ClassVar[str] = "plan_repaired"
    attempt: int
    fixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanReviewed(Event):
    """Report that a reviewer read a valid plan.

    `claims` are the texts of the claims that count; `dismissed` is the number of those that do
    not. `failure` says why the review cannot be used, and is empty where it can.
    """

    kind: ClassVar[str] = "plan_reviewed"
    round: int
    claims: tuple[str, ...]
    dismissed: int
    failure: str


@dataclass(frozen=True, slots=True)
class PlanEnded(Event):
    """Report that compiling is over; `output_dir` is empty where there is no valid plan."""

    kind: ClassVar[str] = "plan_ended"
    ok: bool
    attempts: int
    titles: tuple[str, ...]
    output_dir: str
    run_dir: str
