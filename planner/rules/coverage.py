"""Checks whether the orders carry out what the specification requires: E3xx and W302."""

from __future__ import annotations

from collections.abc import Iterator

from planner.plan.succession import is_inherited
from planner.rules.model import PlanView, Rule
from planner.spec.requirements import Requirement
from planner.steps.findings import Finding, plan_finding
from planner.steps.step import Step
from shared.rule_text import quoted
from shared.work_order.field_path import at


def unknown_requirements(view: PlanView) -> Iterator[Finding]:
    """Yield what orders cover that is neither required now nor was so in an earlier plan."""
    known = {each.id for each in view.plan.requirements}
    if not known:
        return
    known |= _known_before(view)
    for step in view.steps:
        for index, name in enumerate(_covers(step)):
            if name not in known:
                message = f"{quoted(name)} is no requirement of the specification"
                yield step.finding("E301", at("covers", index), message)


def _known_before(view: PlanView) -> set[str]:
    """Return what orders of earlier plans cover: a new order may take away what they wrote.

    Provenance says which these are, once a plan is made.
    """
    orders = [(draft.position, draft.order) for draft in view.plan.drafts if draft.order]
    if view.answer is not None:
        own = view.answer.own
        earlier = [order for position, order in orders if position not in own]
    else:
        succession = view.plan.succession
        earlier = [order for _, order in orders if is_inherited(order, succession)]
    return {name for order in earlier for name in order.covers}


E301 = Rule(
    "E301",
    "unknown requirement",
    why="An order that claims to carry out an unknown requirement hides which one is missing.",
    bad="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": ["R1", "R7"]}]}""",
    good="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": ["R1"]}]}""",
    remedy="Copy the ids exactly from the list of requirements, or drop the one that is not there.",
    check=unknown_requirements,
)


def _uncovered(view: PlanView, code: str) -> Iterator[Finding]:
    covered = {name for step in view.steps for name in _covers(step)}
    if view.answer is not None:  # E312 demands an order for these
        covered |= {*view.answer.task.new_ids, *view.answer.task.covered_before}
    for index, each in enumerate(view.plan.requirements):
        if each.id not in covered:
            yield _finding(code, index, each)


def _covers(step: Step) -> tuple[str, ...]:
    return step.draft.order.covers if step.draft.order else ()


def _finding(code: str, index: int, missing: Requirement) -> Finding:
    where = f" (line {missing.line} of the specification)" if missing.line else ""
    field = at("requirements", index)
    return plan_finding(code, field, f"no order covers {missing.id}{where}: {quoted(missing.text)}")


def forgotten_requirements(view: PlanView) -> Iterator[Finding]:
    """Yield the requirements that no order covers.

    Yield none where E302 reports them as errors, or where an order cannot be read.
    """
    if not view.plan.require_coverage and all(step.draft.order for step in view.steps):
        yield from _uncovered(view, "W302")


W302 = Rule(
    "W302",
    "requirement that no order covers",
    why="A requirement that no order carries out is not built, and nothing else would report it.",
    bad="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": []}]}""",
    good="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": ["R1"]}]}""",
    remedy="Name the requirement in `covers` of the order that carries it out, or add that order.",
    check=forgotten_requirements,
)


def missing_requirements(view: PlanView) -> Iterator[Finding]:
    if view.plan.require_coverage and all(step.draft.order for step in view.steps):
        yield from _uncovered(view, "E302")


E302 = Rule(
    "E302",
    "requirement not covered, though each has to be",
    why="With --require-coverage a plan is valid only if it carries out the whole specification.",
    bad="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "require_coverage": true, "work_orders": [{"covers": []}]}""",
    good="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "require_coverage": true, "work_orders": [{"covers": ["R1"]}]}""",
    remedy="Name the requirement in `covers` of the order that carries it out, or add that order.",
    check=missing_requirements,
)
