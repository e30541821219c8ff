"""The compile loop: ask, parse, judge, and ask again with what was wrong."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.bootstrap import left_out, render_left_out, skip_bootstrap
from planner.findings import Finding
from planner.openai_client import PlannerModel
from planner.plan import Plan
from planner.prompt_template import Template, render, render_review_revision, render_revision
from planner.repair import Fix, mend
from planner.requirements import render_requirements
from planner.response import parse_response
from planner.reviewer import MAX_ROUNDS, Claim, Review, read_review, review_prompt
from planner.rules.catalogue import RULE_BY_CODE
from planner.spec import Spec
from planner.target import NOTHING_MORE, Allowed
from planner.validation import Report, judge
from shared.atomic_io import write_json, write_text
from shared.errors import Interrupted, LlmchError
from shared.events import Emit, PlanAttemptStarted, PlanJudged, PlanRepaired, PlanReviewed, Warned
from shared.interfaces.checker import TypeChecker
from shared.llm.client import Completion, LlmClient, ReplyFailed, Role
from shared.llm.recording import NotOnRecord
from shared.llm.reply import extract_json_object

_KEPT = "the plan stays as it was before the review"


@dataclass(frozen=True, slots=True)
class CompileInputs:
    """Everything a plan is made from."""

    spec: Spec
    template: Template
    doctrine: str
    repo_files: Collection[str]
    repo_hints: str
    require_coverage: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    allowed: Allowed = NOTHING_MORE


@dataclass(frozen=True, slots=True)
class Judged:
    """One attempt's outcome: the plan as far as it could be read, and what the rules say.

    `plan` is `None` where there was no reply at all; `failure` then has the model layer's words.
    `reply` is what a next attempt is shown of this one.
    """

    attempt: int
    plan: Plan | None
    report: Report
    failure: str = ""
    reply: str = ""
    fixes: tuple[Fix, ...] = ()

    @property
    def ok(self) -> bool:
        return self.plan is not None and self.report.ok


def compile_plan(
    inputs: CompileInputs,
    model: PlannerModel,
    client: LlmClient,
    folder: Path,
    emit: Emit,
    max_attempts: int,
    reviewer: PlannerModel | None = None,
) -> Iterator[Judged]:
    """Ask for a plan until one is valid or the attempts are used up; yield each attempt's outcome.

    A valid plan is read by the `reviewer`, if there is one, and revised where its claims count:
    `chosen` says which attempt's plan is the one. Prompts, replies and reports go to `folder`.
    Raises what the model layer raises where asking again would not help; but not for a plan that
    is valid already.
    """
    with TypeChecker() as checker:
        compilation = _Compilation(inputs, model, client, folder, emit, max_attempts, checker)
        last: Judged | None = None
        for last in compilation.until_valid(compilation.first_prompt, 1):
            yield last
        if reviewer is not None and last is not None and last.ok:
            yield from compilation.reviewed(last, reviewer)


def chosen(attempts: Sequence[Judged]) -> Judged | None:
    """Return the attempt that counts: the last one with a valid plan, else the last one."""
    valid = next((each for each in reversed(attempts) if each.ok), None)
    return valid or (attempts[-1] if attempts else None)


class _Compilation:
    """What stays the same from attempt to attempt."""

    def __init__(
        self,
        inputs: CompileInputs,
        model: PlannerModel,
        client: LlmClient,
        folder: Path,
        emit: Emit,
        max_attempts: int,
        checker: TypeChecker,
    ) -> None:
        self._inputs = inputs
        self._model = model
        self._client = client
        self._folder = folder
        self._emit = emit
        self._max_attempts = max_attempts
        self._checker = checker
        self.first_prompt = render(
            inputs.template,
            inputs.spec.text,
            inputs.doctrine,
            inputs.repo_hints,
            render_requirements(inputs.spec.requirements, all_needed=inputs.require_coverage),
        )

    def until_valid(self, prompt: str, first: int) -> Iterator[Judged]:
        """Make attempts from number `first` on, one at least, until one is valid."""
        for attempt in range(first, max(self._max_attempts, first) + 1):
            self._emit(PlanAttemptStarted(attempt))
            self._write(f"prompt_attempt_{attempt}.txt", prompt)
            try:
                completion = self._client.complete(self._model.request(prompt, attempt))
            except ReplyFailed as failed:
                self._emit(Warned(f"attempt {attempt} brought no reply: {failed.message}"))
                yield Judged(attempt, None, Report(()), failed.message)
                continue
            judged = self._judge_reply(completion, attempt)
            self._emit(_judged_event(judged))
            yield judged
            if judged.ok:
                return
            findings = tuple(_with_remedy(each) for each in judged.report.findings)
            prompt = render_revision(self.first_prompt, judged.reply, findings, attempt)

    def reviewed(self, valid: Judged, reviewer: PlannerModel) -> Iterator[Judged]:
        """Have a valid plan reviewed and revised, and yield the attempts that this takes.

        Whatever goes wrong here leaves the valid plan as it is.
        """
        attempt = valid.attempt
        try:
            for number in range(1, MAX_ROUNDS + 1):
                claims = tuple(each.render() for each in self._review(valid, reviewer, number))
                if not claims:
                    return
                prompt = render_review_revision(
                    self.first_prompt, valid.reply, claims, valid.attempt
                )
                revised = valid
                for revised in self.until_valid(prompt, attempt + 1):
                    yield revised
                attempt = revised.attempt
                if not revised.ok:
                    self._emit(Warned(f"{_KEPT}: its revision is not valid"))
                    return
                if _same_plan(valid, revised):
                    return  # the claims were not accepted, and would only be made again
                valid = revised
        except (Interrupted, NotOnRecord):
            raise
        except LlmchError as error:
            self._emit(Warned(f"{_KEPT}: {error.message}"))

    def _review(self, valid: Judged, reviewer: PlannerModel, number: int) -> tuple[Claim, ...]:
        """Make one round of review and return the claims that count."""
        assert valid.plan is not None, "a valid plan was parsed"
        suffix = "" if number == 1 else f"_{number}"
        prompt = review_prompt(self._inputs.spec.text, valid.plan)
        self._write(f"reviewer_prompt{suffix}.txt", prompt)
        try:
            completion = self._client.complete(reviewer.request(prompt, number, Role.REVIEWER))
        except ReplyFailed as failed:
            review = Review(failure=failed.message)
        else:
            reply = {"text": completion.text, "reasoning": completion.reasoning}
            write_json(self._folder / f"reviewer_response{suffix}.json", reply, sync=False)
            review = read_review(completion.text, valid.plan)
        write_json(self._folder / f"reviewer_errors{suffix}.json", review.to_json(), sync=False)
        rendered = tuple(each.render() for each in review.claims)
        self._emit(PlanReviewed(number, rendered, len(review.dismissed), review.failure))
        return review.claims

    def _judge_reply(self, completion: Completion, attempt: int) -> Judged:
        text, repo_files = completion.text, self._inputs.repo_files
        self._write(f"llm_raw_response_attempt_{attempt}.txt", text)
        self._write(f"llm_reasoning_attempt_{attempt}.txt", completion.reasoning)
        written = parse_response(text)
        if written.is_json:
            self._write(f"manifest_raw_attempt_{attempt}.json", extract_json_object(text))
        dropped = left_out(written, repo_files)
        for draft in dropped:
            self._emit(Warned(render_left_out(draft)))
        mended = mend(_traced(skip_bootstrap(written, repo_files), self._inputs), self._report)
        if dropped or mended.fixes:
            # Labels and fields of the findings are those of the plan that is judged.
            text = json.dumps(mended.plan.document, indent=1, ensure_ascii=False)
        if mended.fixes:
            rendered = tuple(each.render() for each in mended.fixes)
            self._emit(PlanRepaired(attempt, rendered))
        report = mended.report
        errors = self._folder / f"validation_errors_attempt_{attempt}.json"
        write_json(errors, report.to_json(), sync=False)
        return Judged(attempt, mended.plan, report, reply=text, fixes=mended.fixes)

    def _report(self, plan: Plan) -> Report:
        inputs = self._inputs
        return judge(
            plan,
            inputs.repo_files,
            inputs.sources,
            allowed=inputs.allowed,
            checker=self._checker,
        )

    def _write(self, name: str, text: str) -> None:
        write_text(self._folder / name, text, sync=False)


def _traced(plan: Plan, inputs: CompileInputs) -> Plan:
    """Return the plan with the requirements that it is held to, whatever the model wrote there.

    Derived ids count only where the plan uses them, or has to.
    """
    uses_ids = any(draft.order and draft.order.covers for draft in plan.drafts)
    counts = inputs.spec.ids_given or inputs.require_coverage or uses_ids
    requirements = inputs.spec.requirements if counts else ()
    return replace(plan, requirements=requirements, require_coverage=inputs.require_coverage)


def _same_plan(before: Judged, after: Judged) -> bool:
    return bool(before.plan and after.plan and before.plan.document == after.plan.document)


def _with_remedy(finding: Finding) -> str:
    return f"{finding.render()} Remedy: {RULE_BY_CODE[finding.code].remedy}"


def _judged_event(judged: Judged) -> PlanJudged:
    report = judged.report
    return PlanJudged(
        attempt=judged.attempt,
        work_orders=len(judged.plan.drafts) if judged.plan else 0,
        errors=len(report.errors),
        warnings=len(report.warnings),
        findings=report.render(),
    )
