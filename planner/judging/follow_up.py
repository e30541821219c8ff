"""Judges a plan that follows another one: new orders answer for faults in kept ones. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.judging.validation import Report
from planner.plan.plan import Plan
from planner.replan.answer import Answer
from planner.rules.catalogue import OF_REPLIES
from planner.steps.findings import Finding
from shared.work_order.field_path import FieldPath

Place = tuple[str, str, FieldPath]


def judge_answer(
    plan: Plan, answer: Answer, judge: Callable[[Plan], Report], before: Report
) -> Report:
    """Return the report on a merged plan.

    `judge` applies all rules, and `before` is its report on the plan before. A finding on a kept
    order that stood there already is left out, since no reply can act on it. A new error is E315,
    with the underlying finding as its message.
    """
    known = frozenset(map(_place, before.findings))
    return Report(tuple(_blamed(plan, answer, judge(plan), known)))


def _blamed(
    plan: Plan, answer: Answer, report: Report, known: frozenset[Place]
) -> Iterator[Finding]:
    own = answer.own
    for each in report.findings:
        if not each.position or each.position in own or each.code in OF_REPLIES:
            yield each
        elif _place(each) not in known:
            yield _disturbed(each) if each.severity == "error" else each


def _disturbed(finding: Finding) -> Finding:
    message = f"the new orders break this order: [{finding.code}] {finding.message}"
    return Finding("E315", finding.position, finding.order, finding.at, message)


def _place(finding: Finding) -> Place:
    return finding.code, finding.order, finding.at
