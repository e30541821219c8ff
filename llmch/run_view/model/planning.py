"""Defines what is shown of how a plan was made."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmch.run_view.model.attempts import CallView
from llmch.run_view.model.states import Judged
from llmch.run_view.model.time_spans import Span
from llmch.run_view.model.usage import UsageView


@dataclass(frozen=True, slots=True)
class PlanAttemptView:
    """Hold one attempt at the plan: how many orders it has, and what the rules say of it.

    `findings` are the first of all, of which there are `errors` and `warnings`.
    """

    number: int
    judged: Judged
    work_orders: int = 0
    errors: int = 0
    warnings: int = 0
    findings: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    calls: tuple[CallView, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanReviewView:
    """Hold one round of the plan's review; `failure` says why it could not be used, if it was."""

    number: int
    claims: tuple[str, ...] = ()
    dismissed: int = 0
    failure: str = ""
    calls: tuple[CallView, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanningView:
    """Hold how the plan of a run was made, in a run of its own; times are since that one began."""

    run_id: str
    started: str = ""
    attempts: tuple[PlanAttemptView, ...] = ()
    reviews: tuple[PlanReviewView, ...] = ()
    spans: tuple[Span, ...] = ()
    usage: UsageView = field(default_factory=UsageView)
