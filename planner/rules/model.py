"""What a rule is and what it looks at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from planner.interfaces.declared import DeclaredInterface
from planner.plan import Draft, Plan
from planner.projection import Projection
from planner.target import Target
from shared.commands import Command
from shared.interfaces.views import History
from shared.rule_text import RuleText, Severity, severity_of
from shared.schemas import WorkOrder

_MAX_QUOTED: Final = 120


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule's complaint.

    `order` is the label of the order it is about, empty for the plan as a whole; `field` is as in
    `acceptance_commands[0]`, empty where no one field is meant. `position` is the order's place
    in the plan from 1, 0 for the plan.
    """

    code: str
    position: int
    order: str
    field: str
    message: str

    @property
    def severity(self) -> Severity:
        return severity_of(self.code)


@dataclass(frozen=True, slots=True)
class Step:
    """One order in its place: its draft, what could be read of it, and what is around it.

    `chain` has the files and `history` the Python of every point of the chain, `target` the repo.
    """

    draft: Draft
    commands: tuple[tuple[int, Command], ...]
    interfaces: tuple[DeclaredInterface, ...]
    plan: Plan
    chain: Projection
    history: History
    target: Target

    def finding(self, code: str, field: str, message: str) -> Finding:
        """Return a finding about a field of this order."""
        return Finding(code, self.draft.position, self.draft.label, field, message)

    def source(self, position: int) -> str:
        """Return what to call whoever stands at `position`: an order, or the repo at 0."""
        return self.plan.drafts[position - 1].label if position else "the repo"


@dataclass(frozen=True, slots=True)
class PlanView:
    """A whole plan as the rules see it.

    `decided` has findings of the passes that choose between codes, so that one fault has one.
    """

    plan: Plan
    steps: tuple[Step, ...]
    chain: Projection
    decided: tuple[Finding, ...] = ()


Check = Callable[[PlanView], Iterator[Finding]]
StepCheck = Callable[[Step], Iterator[Finding]]
OrderCheck = Callable[[Step, WorkOrder], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule(RuleText):
    """A code, what it stands for, and the check behind it.

    What its examples leave out, whoever tries them fills in with what no rule objects to.
    """

    check: Check


def plan_finding(code: str, field: str, message: str) -> Finding:
    """Return a finding about the plan as a whole."""
    return Finding(code, 0, "", field, message)


def decided(code: str) -> Check:
    """Return the check that picks up what was decided to have this code."""

    def from_passes(view: PlanView) -> Iterator[Finding]:
        yield from (each for each in view.decided if each.code == code)

    return from_passes


def each_step(check: StepCheck) -> Check:
    """Return the check that looks at every order, also at one that does not fit the schema."""

    def over_plan(view: PlanView) -> Iterator[Finding]:
        for step in view.steps:
            yield from check(step)

    return over_plan


def each_order(check: OrderCheck) -> Check:
    """Return the check that looks at every order that fits the schema."""

    def over_plan(view: PlanView) -> Iterator[Finding]:
        for step in view.steps:
            if step.draft.order is not None:
                yield from check(step, step.draft.order)

    return over_plan


def quoted(text: str) -> str:
    """Return `text` quoted on one line, cut to what a message can hold."""
    line = json.dumps(text, ensure_ascii=False)
    return line if len(line) <= _MAX_QUOTED else f'{line[:_MAX_QUOTED]}..."'
