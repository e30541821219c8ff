"""The compile loop: ask, parse, judge, and ask again with what was wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from planner.bootstrap import skip_bootstrap
from planner.openai_client import PlannerModel
from planner.plan import Plan
from planner.prompt_template import Template, render, render_revision
from planner.response import parse_response
from planner.rules.catalogue import RULE_BY_CODE
from planner.rules.model import Finding
from planner.spec import Spec
from planner.validation import Report, judge, render_finding
from shared.atomic_io import write_json, write_text
from shared.events import Emit, PlanAttemptStarted, PlanJudged, Warned
from shared.llm.client import Completion, LlmClient, ReplyFailed
from shared.llm.reply import extract_json_object


@dataclass(frozen=True, slots=True)
class CompileInputs:
    """Everything a plan is made from."""

    spec: Spec
    template: Template
    doctrine: str
    repo_files: Collection[str]
    repo_hints: str


@dataclass(frozen=True, slots=True)
class Judged:
    """One attempt's outcome: the plan as far as it could be read, and what the rules say.

    `plan` is `None` where there was no reply at all; `failure` then has the model layer's words.
    """

    attempt: int
    plan: Plan | None
    report: Report
    failure: str = ""

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
) -> Iterator[Judged]:
    """Ask for a plan until one is valid or the attempts are used up; yield each attempt's outcome.

    The last one tells: if it is not `ok`, nothing valid came. Prompts, replies and reports go to
    `folder`. Raises what the model layer raises where asking again would not help.
    """
    first_prompt = render(inputs.template, inputs.spec.text, inputs.doctrine, inputs.repo_hints)
    prompt = first_prompt
    for attempt in range(1, max_attempts + 1):
        emit(PlanAttemptStarted(attempt))
        write_text(folder / f"prompt_attempt_{attempt}.txt", prompt, sync=False)
        try:
            completion = client.complete(model.request(prompt, attempt))
        except ReplyFailed as failed:
            emit(Warned(f"attempt {attempt} brought no reply: {failed.message}"))
            yield Judged(attempt, None, Report(()), failed.message)
            continue
        judged = _judge_reply(completion, attempt, inputs.repo_files, folder)
        emit(_judged_event(judged))
        yield judged
        if judged.ok:
            return
        findings = tuple(_with_remedy(each) for each in judged.report.findings)
        prompt = render_revision(first_prompt, completion.text, findings, attempt)


def _judge_reply(
    completion: Completion, attempt: int, repo_files: Collection[str], folder: Path
) -> Judged:
    write_text(folder / f"llm_raw_response_attempt_{attempt}.txt", completion.text, sync=False)
    write_text(folder / f"llm_reasoning_attempt_{attempt}.txt", completion.reasoning, sync=False)
    plan = skip_bootstrap(parse_response(completion.text), repo_files)
    if plan.is_json:
        raw = extract_json_object(completion.text)
        write_text(folder / f"manifest_raw_attempt_{attempt}.json", raw, sync=False)
    report = judge(plan, repo_files)
    write_json(folder / f"validation_errors_attempt_{attempt}.json", report.to_json(), sync=False)
    return Judged(attempt, plan, report)


def _with_remedy(finding: Finding) -> str:
    return f"{render_finding(finding)} Remedy: {RULE_BY_CODE[finding.code].remedy}"


def _judged_event(judged: Judged) -> PlanJudged:
    report = judged.report
    return PlanJudged(
        attempt=judged.attempt,
        work_orders=len(judged.plan.drafts) if judged.plan else 0,
        errors=len(report.errors),
        warnings=len(report.warnings),
        findings=report.render(),
    )
