"""Makes the planner's prompts, each from the stage before it: the inputs, a report, or claims."""

from __future__ import annotations

from collections.abc import Sequence

from planner.compile.attempt import Judged
from planner.compile.inputs import CompileInputs
from planner.compile.reviewer import Claim
from planner.prompts.languages import render_languages
from planner.prompts.template import (
    have_room,
    render,
    render_replan,
    render_replan_review_revision,
    render_replan_revision,
    render_review_revision,
    render_revision,
)
from planner.replan.follow_up import FollowUp
from planner.replan.prompt import (
    relevant_words,
    render_difference,
    render_orders,
    render_replaceable,
    render_withdrawable,
)
from planner.repo.manifests import render_commands
from planner.rules.catalogue import RULE_BY_CODE
from planner.spec.requirements import render_requirements
from planner.steps.findings import Finding
from shared.work_order.schemas import order_id


def first_prompt(inputs: CompileInputs) -> str:
    """Return the prompt of the first attempt."""
    if inputs.task is not None:
        return _change_prompt(inputs, inputs.task)
    return render(
        inputs.template,
        inputs.spec.text,
        inputs.doctrine,
        inputs.repo.hints,
        render_requirements(inputs.spec.requirements, all_needed=inputs.require_coverage),
        render_commands(inputs.repo.verification),
        render_languages(inputs.spec.text, inputs.repo.files),
    )


def _change_prompt(inputs: CompileInputs, task: FollowUp) -> str:
    """Return the prompt for the orders that carry out a change."""
    return render_replan(
        {
            "DIFFERENCE": render_difference(task),
            "ORDERS": render_orders(task),
            "NEXT_ID": order_id(task.predecessor.last_number + 1),
            "REPLACEABLE": render_replaceable(task),
            "WITHDRAWN": render_withdrawable(task),
        },
        inputs.repo.hints,
        render_commands(inputs.repo.verification),
        render_languages(relevant_words(task), inputs.repo.files),
    )


def revision_prompt(first: str, refused: Judged) -> str:
    """Return the prompt that shows the model its refused plan and the findings on it.

    Findings stand by order and code. Where there is no room for all, every error comes first.
    """
    report = refused.report
    again = render_revision if refused.answer is None else render_replan_revision
    findings = tuple(map(_with_remedy, report.findings))
    if have_room(findings):
        return again(first, refused.reply, findings, refused.attempt)
    sorted_findings = tuple(map(_with_remedy, (*report.errors, *report.warnings)))
    return again(first, refused.reply, sorted_findings, refused.attempt, needed=len(report.errors))


def review_revision_prompt(first: str, valid: Judged, claims: Sequence[Claim]) -> str:
    """Return the prompt that shows the model its valid plan and the reviewer's claims."""
    rendered = tuple(each.render() for each in claims)
    if valid.answer is not None:
        return render_replan_review_revision(first, valid.reply, rendered, valid.attempt)
    return render_review_revision(first, valid.reply, rendered, valid.attempt)


def _with_remedy(finding: Finding) -> str:
    return f"{finding.render()} Remedy: {RULE_BY_CODE[finding.code].remedy}"
