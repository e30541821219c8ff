"""Runs the compile loop: prompt -> reply -> plan -> report -> revision, then the review.

`planner.run` has the stages before the loop and after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.compile.attempt import Judge, Judged, judge_reply, no_reply
from planner.compile.inputs import CompileInputs
from planner.compile.model import PlannerModel
from planner.compile.prompts import first_prompt, review_revision_prompt, revision_prompt
from planner.compile.record import CompileRecord
from planner.compile.reviewer import MAX_ROUNDS, Claim, Review, read_review, review_prompt
from planner.plan.response import read_reply
from shared.errors import Interrupted, LlmchError
from shared.llm.client import LlmClient, ReplyFailed, Role
from shared.llm.record.clients import NotOnRecord


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
    count. `planner.compile.attempt.chosen` returns the attempt whose plan is used. Raises the
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
    compilation: Compilation, first: str, prompt: str, number: int
) -> Iterator[Judged]:
    """Make at least one attempt, numbered from `number`, until one is valid or none is left.

    The first of these attempts sends `prompt`. A revision prompt repeats `first`, the prompt of
    attempt 1.
    """
    for attempt in range(number, max(compilation.max_attempts, number) + 1):
        judged = _attempt(compilation, prompt, attempt)
        yield judged
        if judged.ok:
            return
        if judged.plan is not None:
            prompt = revision_prompt(first, judged)


def _attempt(compilation: Compilation, prompt: str, attempt: int) -> Judged:
    """Ask once: prompt -> reply -> plan -> report."""
    record = compilation.record
    record.begin_attempt(attempt, prompt)
    try:
        completion = compilation.client.complete(compilation.model.request(prompt, attempt))
    except ReplyFailed as failed:
        judged = no_reply(attempt, failed.message)
    else:
        record.add_reply(attempt, completion)
        reply = read_reply(completion.text)
        record.add_document(attempt, reply)
        judged = judge_reply(attempt, completion.text, reply, compilation.inputs, compilation.judge)
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
            for revised in _until_valid(compilation, first, prompt, attempt + 1):
                yield revised
            attempt = revised.attempt
            if not revised.ok:
                compilation.record.keep_plan("its revision is not valid")
                return
            if _same_plan(valid, revised):
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
        review = Review(failure=failed.message)
    else:
        record.add_review_reply(number, completion)
        review = read_review(completion.text, valid.plan, valid.answer)
    record.end_review(number, review)
    return review.claims


def _same_plan(before: Judged, after: Judged) -> bool:
    return bool(before.plan and after.plan and before.plan.document == after.plan.document)
