"""Records a compilation while it goes on: its prompts, replies and reports, and its summary."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.compile.attempt import Judged
from planner.compile.reviewer import Review
from planner.compile.summary import errors_document, succeeded, summary_document
from planner.plan.response import Reply
from shared.errors import LlmchError
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.events.plans import PlanAttemptStarted, PlanJudged, PlanRepaired, PlanReviewed
from shared.files.atomic_io import write_json, write_text
from shared.llm.client import Completion

_KEPT = "the plan stays as it was before the review"


@dataclass(frozen=True, slots=True)
class CompileRecord:
    """Write the results of each stage to the files in `folder`, and report them as events."""

    folder: Path
    emit: Emit

    def begin_attempt(self, attempt: int, prompt: str) -> None:
        """Record the prompt of an attempt, before the model is asked."""
        self.emit(PlanAttemptStarted(attempt))
        self._write(f"prompt_attempt_{attempt}.txt", prompt)

    def add_reply(self, attempt: int, completion: Completion) -> None:
        """Record a reply as the model gave it."""
        self._write(f"llm_raw_response_attempt_{attempt}.txt", completion.text)
        self._write(f"llm_reasoning_attempt_{attempt}.txt", completion.reasoning)

    def add_document(self, attempt: int, reply: Reply) -> None:
        """Record the JSON document in a reply, where there is one."""
        if reply.source:
            self._write(f"manifest_raw_attempt_{attempt}.json", reply.source)

    def end_attempt(self, judged: Judged) -> None:
        """Record how an attempt ended."""
        if judged.plan is None:
            self.emit(Warned(f"attempt {judged.attempt} got no reply: {judged.failure}"))
            return
        for sentence in judged.left_out:
            self.emit(Warned(sentence))
        if judged.fixes:
            rendered = tuple(each.render() for each in judged.fixes)
            self.emit(PlanRepaired(judged.attempt, rendered))
        errors = self.folder / f"validation_errors_attempt_{judged.attempt}.json"
        write_json(errors, judged.report.to_json(), sync=False)
        self.emit(
            PlanJudged(
                attempt=judged.attempt,
                work_orders=len(judged.plan.drafts),
                errors=len(judged.report.errors),
                warnings=len(judged.report.warnings),
                findings=judged.report.render(),
            )
        )

    def begin_review(self, number: int, prompt: str) -> None:
        """Record the prompt of a round of review, before the reviewer is asked."""
        self._write(f"reviewer_prompt{_suffix(number)}.txt", prompt)

    def add_review_reply(self, number: int, completion: Completion) -> None:
        """Record a reviewer's reply as the model gave it."""
        reply = {"text": completion.text, "reasoning": completion.reasoning}
        path = self.folder / f"reviewer_response{_suffix(number)}.json"
        write_json(path, reply, sync=False)

    def end_review(self, number: int, review: Review) -> None:
        """Record which of the reviewer's claims count."""
        path = self.folder / f"reviewer_errors{_suffix(number)}.json"
        write_json(path, review.to_json(), sync=False)
        rendered = tuple(each.render() for each in review.claims)
        self.emit(PlanReviewed(number, rendered, len(review.dismissed), review.failure))

    def keep_plan(self, reason: str) -> None:
        """Report why the review leaves the plan unchanged."""
        self.emit(Warned(f"{_KEPT}: {reason}"))

    def _write(self, name: str, text: str) -> None:
        write_text(self.folder / name, text, sync=False)


@contextlib.contextmanager
def summarised(folder: Path, settings: Mapping[str, Any]) -> Iterator[list[Judged]]:
    """Yield a list for the attempts, and record in `folder` how and why the block ends.

    `compile_summary.json` is always written, and `validation_errors.json` where there is no valid
    plan.
    """
    attempts: list[Judged] = []
    started = time.monotonic()
    cause: str | None = None
    try:
        yield attempts
    except BaseException as error:
        cause = error.message if isinstance(error, LlmchError) else repr(error)
        raise
    finally:
        seconds = time.monotonic() - started
        if not succeeded(attempts):
            write_json(folder / "validation_errors.json", errors_document(attempts, cause))
        summary = summary_document(attempts, cause, seconds, settings)
        write_json(folder / "compile_summary.json", summary)


def _suffix(number: int) -> str:
    return "" if number == 1 else f"_{number}"
