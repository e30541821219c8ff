"""Runs the loop: ask, judge, ask again, review; makes its first prompt.

`planner.run_plan` has the stages before the loop and after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.compile.judge_reply import (
    MAX_ROUNDS,
    Claim,
    Judge,
    Judged,
    Review,
    judge_reply,
    no_reply,
    read_review,
    review_prompt,
)
from planner.compile.revision import put_together, review_revision_prompt, revision_prompt
from planner.plan.parse_plan import read_reply
from planner.prompts.prompt_templates import (
    render,
    render_change,
    render_languages,
    render_replan,
)
from planner.replan import replan_prompt
from planner.repo.planned_repo import render_commands
from planner.spec.requirements import render_requirements
from shared.errors import Interrupted, LlmchError, ModelUnavailable
from shared.llm.model_client import LlmClient, ReplyFailed, Role
from shared.llm.replayed_replies import NotOnRecord
from shared.work_order.work_order import order_id

if TYPE_CHECKING:
    from planner.compile.compile_record import CompileRecord
    from planner.compile.inputs import CompileInputs, PlannerModel
    from planner.plan.parse_plan import Plan
    from planner.replan.predecessor import FollowUp


def first_prompt(inputs: CompileInputs) -> str:
    """Return the prompt of the first attempt."""
    if inputs.task is not None:
        return _change_prompt(inputs, inputs.task)
    if inputs.change is not None:
        return render_change(
            inputs.spec.text,
            inputs.repo.hints,
            render_commands(inputs.repo.verification),
            tests_given=bool(inputs.change.tests),
        )
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
    return render_replan(
        {
            "DIFFERENCE": replan_prompt.render_difference(task),
            "ORDERS": replan_prompt.render_orders(task),
            "NEXT_ID": order_id(task.predecessor.last_number + 1),
            "REPLACEABLE": replan_prompt.render_replaceable(task),
            "WITHDRAWN": replan_prompt.render_withdrawable(task),
        },
        inputs.repo.hints,
        render_commands(inputs.repo.verification),
        render_languages(replan_prompt.relevant_words(task), inputs.repo.files),
    )


@dataclass(frozen=True, slots=True)
class Compilation:
    """Hold what stays the same from attempt to attempt; `judge` applies all rules to a plan."""

    inputs: CompileInputs
    model: PlannerModel
    reviewer: PlannerModel | None
    client: LlmClient
    judge: Judge
    record: CompileRecord
    max_attempts: int


def compile_plan(compilation: Compilation) -> Iterator[Judged]:
    """Ask for a plan until one is valid or the attempts are used up; yield each attempt's outcome.

    The reviewer, if there is one, reads a valid plan, and the model revises the plan where claims
    count. `planner.compile.judge_reply.chosen` returns the attempt whose plan is used. Raises the
    model layer's errors where asking again would not help; once a plan is valid, raises only
    `Interrupted` and `NotOnRecord`.
    """
    first = first_prompt(compilation.inputs)
    last: Judged | None = None
    for last in _until_valid(compilation, first, first, 1):
        yield last
    if compilation.reviewer is not None and last is not None and last.ok:
        yield from _reviewed(compilation, compilation.reviewer, first, last)


def _until_valid(
    compilation: Compilation, first: str, prompt: str, number: int, refused: Judged | None = None
) -> Iterator[Judged]:
    """Make at least one attempt, numbered from `number`, until one is valid or none is left.

    The first of these attempts sends `prompt`, which asks for a revision of `refused` where there
    is one. A revision prompt repeats `first`, the prompt of attempt 1. A plan that was refused
    before ends the attempts: asking again would bring it once more.
    """
    seen: dict[str, int] = {}
    for attempt in range(number, max(compilation.max_attempts, number) + 1):
        try:
            judged = _attempt(compilation, prompt, attempt, refused.reply if refused else "")
        except ModelUnavailable as error:
            yield no_reply(attempt, error.message)
            raise
        yield judged
        if judged.ok:
            return
        if judged.plan is None:
            continue
        if (earlier := seen.setdefault(_refusal(judged.plan, judged), attempt)) < attempt:
            compilation.record.stop_repeating(attempt, earlier)
            return
        if refused is None or judged.plan.is_json:
            refused = judged
        prompt = revision_prompt(first, refused, judged)


def _refusal(plan: Plan, judged: Judged) -> str:
    """Return a text that is equal where a plan is refused twice alike."""
    said = judged.reply if not plan.is_json else json.dumps(plan.document, sort_keys=True)
    return "\n".join((*judged.report.render(), said))


def _attempt(compilation: Compilation, prompt: str, attempt: int, before: str) -> Judged:
    """Ask once: prompt -> reply -> plan -> report; a patch is put into the reply `before`."""
    record, inputs = compilation.record, compilation.inputs
    record.begin_attempt(attempt, prompt)
    try:
        completion = compilation.client.complete(compilation.model.request(prompt, attempt))
    except ReplyFailed as failed:
        record.add_lost_reply(attempt, failed)
        judged = no_reply(attempt, failed.message)
    else:
        record.add_reply(attempt, completion)
        said = read_reply(completion.text)
        reply = put_together(before, said, renumber=inputs.task is None)
        record.add_document(attempt, reply)
        text = completion.text if reply is said else reply.source
        judged = judge_reply(attempt, text, reply, inputs, compilation.judge)
    record.end_attempt(judged)
    return judged


def _reviewed(
    compilation: Compilation, reviewer: PlannerModel, first: str, valid: Judged
) -> Iterator[Judged]:
    """Have a valid plan reviewed and revised, and yield the attempts that the revisions take.

    An error here leaves the valid plan as it is.
    """
    attempt = valid.attempt
    try:
        for number in range(1, MAX_ROUNDS + 1):
            claims = _review(compilation, reviewer, valid, number)
            if not claims:
                return
            prompt = review_revision_prompt(first, valid, claims)
            revised = valid
            for revised in _until_valid(compilation, first, prompt, attempt + 1, valid):
                yield revised
            attempt = revised.attempt
            if not revised.ok:
                compilation.record.keep_plan("its revision is not valid")
                return
            if valid.plan and revised.plan and valid.plan.document == revised.plan.document:
                return  # the model did not accept the claims; the reviewer would only repeat them
            valid = revised
    except (Interrupted, NotOnRecord):
        raise
    except LlmchError as error:
        compilation.record.keep_plan(error.message)


def _review(
    compilation: Compilation, reviewer: PlannerModel, valid: Judged, number: int
) -> tuple[Claim, ...]:
    """Make one round of review and return the claims that count."""
    assert valid.plan is not None, "a valid plan was parsed"
    record = compilation.record
    prompt = review_prompt(compilation.inputs.spec.text, valid.plan, valid.answer)
    record.begin_review(number, prompt)
    try:
        completion = compilation.client.complete(reviewer.request(prompt, number, Role.REVIEWER))
    except ReplyFailed as failed:
        record.add_lost_review(number, failed)
        review = Review(failure=failed.message)
    else:
        record.add_review_reply(number, completion)
        review = read_review(completion.text, valid.plan, valid.answer)
    record.end_review(number, review)
    return review.claims
