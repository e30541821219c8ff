"""Gives the answers of several verbs: how orders ended, what a plan is, what a code or stage
means.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from factory.judging import proof
from factory.orders import documents, read_orders, stages
from factory.orders.stages import ATTEMPT_STAGE_TEXTS, STAGE_TEXTS
from factory.record import landed as landings
from factory.record import summary as summaries
from factory.run import forecast as forecasts
from llmch.ci import pull_requests
from llmch.console.document import (
    AlreadyShown,
    Block,
    Conclusion,
    Document,
    Paragraph,
    Remark,
    Rows,
    Shape,
)
from llmch.console.line import count, short
from llmch.previews import plan_difference, plan_preview, preview_document
from planner import run_plan
from planner.plan import parse_plan, plan_edits
from planner.repo import planned_repo
from planner.rules import judge_plan
from shared.errors import Example, InvalidInput, RuleText
from shared.events.events import Emit, Noted
from shared.files.strict_documents import JsonValue
from shared.languages import registry
from shared.work_order import plan_folder

_HEADINGS = ("order", "state", "attempts", "result")


@dataclass(frozen=True, slots=True)
class OrderDocument(Document):
    """Represent the answer of `run`: how one order ended."""

    summary: documents.RunSummary
    pull_request: pull_requests.PullRequestAnswer | None = None

    def to_json(self) -> object:
        return _json(self.summary, self.pull_request)

    def blocks(self) -> Iterator[Block]:
        summary = self.summary
        end = Conclusion(summary.work_order, _result(summary), summary.verdict == "PASS")
        yield AlreadyShown((end,))


@dataclass(frozen=True, slots=True)
class BatchDocument(Document):
    """Represent the answer of `run-all`, and of `build` where there was a plan to execute."""

    summary: documents.BatchSummary
    pull_request: pull_requests.PullRequestAnswer | None = None

    def to_json(self) -> object:
        return _json(self.summary, self.pull_request)

    def blocks(self) -> Iterator[Block]:
        summary = self.summary
        rows = tuple(
            (each.work_order, each.state, str(each.attempts), _result(each))
            for each in summary.orders
        )
        text = f"{count(len(rows), 'order')} on {summary.branch}"
        end = Conclusion("run-all", text, summary.verdict == "PASS")
        yield AlreadyShown((Rows(rows, _HEADINGS), end))


def _json(
    summary: documents.RunSummary | documents.BatchSummary,
    request: pull_requests.PullRequestAnswer | None,
) -> object:
    document = summaries.public_json(summary)
    return document if request is None else {**document, "pull_request": request.to_json()}


def _result(summary: documents.RunSummary) -> str:
    if summary.failure is not None:
        return summary.failure.stage
    return short(summary.commit) if summary.commit else ""


@dataclass(frozen=True, slots=True)
class PlanDocument(Document):
    """Represent a plan, or why there is none; `preview` says what the plan will do.

    `then` is the command that executes it.
    """

    result: run_plan.PlanResult
    preview: plan_preview.PlanPreview | None = None
    then: str = ""

    def to_json(self) -> object:
        foreseen = self.preview.forecast if self.preview else None
        forecast = forecasts.forecast_document(foreseen) if foreseen is not None else None
        return {**run_plan.plan_document(self.result), "forecast": forecast}

    def blocks(self) -> Iterator[Block]:
        result = self.result
        end = Conclusion(
            "plan",
            count(result.work_orders, "order") if result.ok else "no valid plan",
            result.ok,
            count(result.attempts, "attempt"),
        )
        yield AlreadyShown((*result.report.shown(), end))
        if result.change is not None:
            yield from plan_difference.changed_requirements(result.change.task.difference)
        if self.preview is not None:
            yield from preview_document.short_form(self.preview, cost=False)
            yield from _forecast(self.preview)
        if self.then:
            yield Remark(("next:", f"  {self.then}"))


def _forecast(preview: plan_preview.PlanPreview) -> Iterator[Block]:
    if preview.forecast is not None:
        expected, *worst = forecasts.forecast_lines(preview.forecast)
        yield Remark((expected,))
        yield Remark(tuple(worst), is_detail=True)


@dataclass(frozen=True, slots=True)
class PlanEdits:
    """Hold the documents of a plan's files as they are, and the plan that they make."""

    read: Mapping[str, JsonValue]
    taken: plan_edits.EditedPlan

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(each.render() for each in self.taken.edits)


def read_edits(folder: Path, repo: Path | None, branch: str | None) -> PlanEdits | None:
    """Return what was edited in the plan in `folder`, `None` if nothing was.

    Raises `InvalidInput` if an order was edited that has landed in the repo: its commit stays,
    and the order would be made again.
    """
    try:
        read = plan_folder.read_plan_files(folder)
    except plan_folder.FileMalformed:
        return None  # the rules say what is wrong with it
    taken = plan_edits.take_edits(read)
    if taken is None:
        return None
    if repo is not None:
        _refuse_landed(folder, taken, repo, branch)
    return PlanEdits(read, taken)


def note_edited(folder: Path, emit: Emit) -> None:
    """Report a plan that was edited and not taken: `run` and `run-all` refuse it."""
    with contextlib.suppress(InvalidInput):  # the rules say what is wrong with it
        manifest = plan_folder.read_manifest(folder)
        if manifest is not None and manifest.was_edited:
            error = plan_folder.edited_manifest(folder)
            emit(Noted(f"{error.message}; {error.hint}"))


def _refuse_landed(
    folder: Path, taken: plan_edits.EditedPlan, repo: Path, branch: str | None
) -> None:
    drafts = parse_plan.parse_plan(taken.document).drafts
    orders = [
        read_orders.LoadedOrder(each.order, taken.plan) for each in drafts if each.order is not None
    ]
    if not orders or taken.plan is None:
        return
    landed = landings.landed_otherwise(planned_repo.open_repo(repo), orders, branch)
    if landed:
        names = ", ".join(f"{name} ({commit[:12]})" for name, commit in sorted(landed.items()))
        raise InvalidInput(
            f"{folder}: edited or removed, but landed already: {names}; "
            "an edited order would be made again",
            "undo these edits, and put the change into an order that has not landed; "
            f"`{plan_folder.plan_again(folder)}` plans a change of what landed",
        )


@cache
def rule_codes() -> Mapping[str, RuleText]:
    """Return all rules and flags by their codes."""
    rules = (*judge_plan.RULES, *proof.FLAGS)
    return {each.code: each for each in sorted(rules, key=lambda rule: rule.code)}


def examples_of(rule: RuleText) -> Mapping[str, Example]:
    """Return the examples of a rule by the name of their language.

    A rule that is the same in every language has one example, under the name "".
    """
    if rule.bad:
        return {"": Example(rule.bad, rule.good)}
    read = {
        each.name: each.examples.read() for each in registry.LANGUAGES if each.examples is not None
    }
    return {name: found[rule.code] for name, found in read.items() if rule.code in found}


STAGE_NAMES = (*(str(each.stage) for each in STAGE_TEXTS), *map(str, ATTEMPT_STAGE_TEXTS))


@dataclass(frozen=True, slots=True)
class StageDocument(Document):
    """Represent the answer of `explain STAGE` for a stage of a failure."""

    shape = Shape(
        "stage=text.stage",
        "happened=text.happened",
        "another_attempt=text.stage.retryable",
        "consequence=text.consequence",
        "remedy=text.remedy",
    )

    text: stages.StageText

    def blocks(self) -> Iterator[Block]:
        text = self.text
        again = "Another attempt follows" if text.stage.retryable else "No other attempt follows"
        yield Paragraph((f"{text.stage}  (a stage of a failure)", ""))
        yield Paragraph((text.happened, ""))
        bound = ", up to --max-attempts" if text.stage.retryable else ""
        yield Paragraph((f"{again}{bound}. {text.consequence}", ""))
        yield Paragraph((f"Remedy: {text.remedy}",))


@dataclass(frozen=True, slots=True)
class AttemptStageDocument(Document):
    """Represent the answer of `explain STAGE` for a stage that every attempt goes through."""

    stage: str
    happens: str

    def blocks(self) -> Iterator[Block]:
        yield Paragraph((f"{self.stage}  (a stage of an attempt)", "", f"{self.happens}."))


def explain_stage(name: str) -> Document | None:
    """Return what the stage of this name means, or `None` if there is none."""
    for text in STAGE_TEXTS:
        if text.stage == name:
            return StageDocument(text)
    for stage, happens in ATTEMPT_STAGE_TEXTS.items():
        if stage == name:
            return AttemptStageDocument(name, happens[0].upper() + happens[1:])
    return None
