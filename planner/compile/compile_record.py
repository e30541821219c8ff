"""Records a compilation, and exports its plan."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.compile.judge_reply import Judged, Review, chosen
from planner.compile.patches import Ask
from planner.compile.stages import StageKind
from planner.plan import parse_plan
from planner.repo.looks import Looks
from planner.rules import repair
from planner.rules.judge_plan import Report, shown
from shared.errors import CommandFailed, EnvironmentFault, InvalidInput, LlmchError
from shared.events import events
from shared.events.run_record import killed_runs
from shared.files.atomic_io import write_json, write_text
from shared.files.strict_documents import MAX_DOCUMENT_BYTES
from shared.files.text_sources import read_plain
from shared.llm import model_client
from shared.llm.replayed_replies import EarlierRun
from shared.llm.transcript import uncertain_calls
from shared.llm.transcript_lines import place_to_json
from shared.work_order import work_order
from shared.work_order.plan_folder import list_plan_files, replace_plan


def last_report(attempts: Sequence[Judged]) -> Report:
    """Return the report on the plan that counts, else on the latest reply."""
    if (last := chosen(attempts)) is not None and last.ok:
        return last.report
    judged = (each.report for each in reversed(attempts) if each.plan is not None)
    return next(judged, Report(()))


def summary_document(
    attempts: Sequence[Judged], error: str | None, seconds: float, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `compile_summary.json`; `error` is the message that ended the compilation early."""
    report = last_report(attempts)
    return {
        "success": succeeded(attempts) and error is None,
        "compile_attempts": len(attempts),
        "work_orders": _work_orders(attempts),
        "error": error,
        "errors": [shown(finding).to_json() for finding in report.errors],
        "warnings": [shown(finding).to_json() for finding in report.warnings],
        "fixes": [fix.to_json() for fix in _fixes(attempts)],
        "attempts": [_attempt_document(each) for each in attempts],
        "seconds": round(seconds, 3),
        "defaults": dict(defaults),
    }


def errors_document(attempts: Sequence[Judged], error: str | None) -> dict[str, Any]:
    """Return `validation_errors.json`, which says why the plan was refused."""
    failure = error or (attempts[-1].failure if attempts else "") or None
    return {**last_report(attempts).to_json(), "ok": False, "error": failure}


def succeeded(attempts: Sequence[Judged]) -> bool:
    """Return whether an attempt brought a valid plan."""
    last = chosen(attempts)
    return last is not None and last.ok


def _fixes(attempts: Sequence[Judged]) -> tuple[repair.Fix, ...]:
    """Return the repairs, made without a model, in the plan that counts."""
    last = chosen(attempts)
    return last.fixes if last else ()


def _work_orders(attempts: Sequence[Judged]) -> int:
    last = chosen(attempts)
    return len(last.plan.drafts) if last and last.ok and last.plan else 0


def _attempt_document(judged: Judged) -> dict[str, Any]:
    return {
        "attempt": judged.attempt,
        "failure": judged.failure or None,
        "errors": [shown(finding).to_json() for finding in judged.report.errors],
        "fixes": [fix.to_json() for fix in judged.fixes],
    }


AFTER_CUT = (
    "give replies more room with --max-output-tokens, choose another model with --planner-model, "
    "or ask for less at once, as `llmch plan --staged` and a shorter specification do"
)
_KEPT = "the plan stays as it was before the review"


@dataclass(frozen=True, slots=True)
class CompileRecord:
    """Write the results of each stage to the files in `folder`, and report them as events."""

    folder: Path
    emit: events.Emit

    def begin_attempt(self, attempt: int, asks: Sequence[Ask], kind: StageKind) -> None:
        """Record the prompts of an attempt, before the model is asked."""
        self.emit(events.PlanAttemptStarted(attempt, kind.value, len(asks)))
        for ask in asks:
            self._write(f"prompt_attempt_{_of(attempt, ask)}.txt", ask.prompt)

    def add_look(
        self,
        attempt: int,
        looks: Looks,
        seen: Sequence[str],
        prompt: str,
        completion: model_client.Completion,
    ) -> None:
        """Record a call whose reply asked to see more of the repo."""
        name = f"{attempt}_look_{looks.rounds}"
        self._write(f"prompt_attempt_{name}.txt", prompt)
        self._write(f"llm_raw_response_attempt_{name}.txt", completion.text)
        places = "; ".join(seen) or "nothing new"
        self.emit(events.Noted(f"the model asked to see more of the repository: {places}"))

    def begin_call(self, attempt: int, prompt: str) -> None:
        """Record the prompt that follows a look, before the model is asked."""
        self._write(f"prompt_attempt_{attempt}.txt", prompt)

    def add_reply(self, attempt: int, completion: model_client.Completion, ask: Ask) -> None:
        """Record a reply as the model gave it."""
        self._write(f"llm_raw_response_attempt_{_of(attempt, ask)}.txt", completion.text)
        self._write(f"llm_reasoning_attempt_{_of(attempt, ask)}.txt", completion.reasoning)

    def add_lost_reply(self, attempt: int, failed: model_client.ReplyFailed, ask: Ask) -> None:
        """Record what came of a reply that was cut, broken or refused: it was paid, too."""
        for text in failed.lost[-1:]:
            self._write(f"llm_raw_response_attempt_{_of(attempt, ask)}.txt", text)

    def add_document(self, attempt: int, reply: parse_plan.Reply) -> None:
        """Record the JSON document in a reply, where there is one."""
        if reply.source:
            self._write(f"manifest_raw_attempt_{attempt}.json", reply.source)

    def end_attempt(self, judged: Judged, kind: StageKind) -> None:
        """Record how an attempt ended."""
        if judged.plan is None:
            self.emit(events.Warned(f"attempt {judged.attempt} got no reply: {judged.failure}"))
            return
        for sentence in judged.left_out:
            self.emit(events.Warned(sentence))
        if judged.fixes:
            rendered = tuple(each.render() for each in judged.fixes)
            self.emit(events.PlanRepaired(judged.attempt, rendered))
        errors = self.folder / f"validation_errors_attempt_{judged.attempt}.json"
        write_json(errors, judged.report.to_json(), sync=False)
        self.emit(
            events.PlanJudged(
                attempt=judged.attempt,
                work_orders=len(judged.plan.drafts),
                errors=len(judged.report.errors),
                warnings=len(judged.report.warnings),
                findings=judged.report.render(),
                stage=kind.value,
            )
        )

    def stop_repeating(self, attempt: int, earlier: int) -> None:
        """Report that a plan was refused before, word for word, so that the model is not asked."""
        self.emit(
            events.Warned(
                f"attempt {attempt} repeats the plan that was refused at attempt {earlier}, so no "
                "further attempt is paid for: say in the specification what the findings are "
                "about, or choose another model with --planner-model"
            )
        )

    def stop_cut(self, attempt: int) -> None:
        """Report that a reply was cut that would be cut again, so that the model is not asked."""
        self.emit(
            events.Warned(
                f"a reply of attempt {attempt} was cut and would be again, so no further attempt "
                f"is paid for: {AFTER_CUT}"
            )
        )

    def begin_review(self, number: int, prompt: str) -> None:
        """Record the prompt of a round of review, before the reviewer is asked."""
        self._write(f"reviewer_prompt{_suffix(number)}.txt", prompt)

    def add_review_reply(self, number: int, completion: model_client.Completion) -> None:
        """Record a reviewer's reply as the model gave it."""
        reply = {"text": completion.text, "reasoning": completion.reasoning}
        path = self.folder / f"reviewer_response{_suffix(number)}.json"
        write_json(path, reply, sync=False)

    def add_lost_review(self, number: int, failed: model_client.ReplyFailed) -> None:
        """Record what came of a reviewer's reply that was cut, broken or refused."""
        for text in failed.lost[-1:]:
            path = self.folder / f"reviewer_response{_suffix(number)}.json"
            write_json(path, {"text": text, "reasoning": ""}, sync=False)

    def end_review(self, number: int, review: Review) -> None:
        """Record which of the reviewer's claims count."""
        path = self.folder / f"reviewer_errors{_suffix(number)}.json"
        write_json(path, review.to_json(), sync=False)
        rendered = tuple(each.render() for each in review.claims)
        self.emit(events.PlanReviewed(number, rendered, len(review.dismissed), review.failure))

    def keep_plan(self, reason: str) -> None:
        """Report why the review leaves the plan unchanged."""
        self.emit(events.Warned(f"{_KEPT}: {reason}"))

    def _write(self, name: str, text: str) -> None:
        write_text(self.folder / name, text, sync=False)


@contextlib.contextmanager
def summarised(folder: Path, settings: Mapping[str, Any]) -> Iterator[list[Judged]]:
    """Yield a list for the attempts, and record in `folder` how and why the block ends.

    `compile_summary.json` is always written, and `validation_errors.json` without a valid
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


def end_killed_plans(kind: Path) -> None:
    """Record that earlier compilations were killed, where their process could not do so itself."""
    for folder, head in killed_runs(kind):
        with contextlib.suppress(CommandFailed):
            if not (folder / "compile_summary.json").exists():
                write_json(folder / "compile_summary.json", summary_document((), _KILLED, 0.0, {}))
            uncertain = map(place_to_json, uncertain_calls(folder / "transcript.jsonl"))
            ending = {"status": "killed", "error": _KILLED, "uncertain_calls": [*uncertain]}
            write_json(folder / "run.json", {**head, **ending})


_KILLED = "the process ended without recording its end; the next plan wrote this"


def _of(attempt: int, ask: Ask) -> str:
    """Return the part of file names that tells the questions of an attempt apart."""
    return f"{attempt}_{ask.orders[0]}" if ask.orders else str(attempt)


def _suffix(number: int) -> str:
    return "" if number == 1 else f"_{number}"


_LOOKED_AT = 50  # runs; those before are not read


def earlier_replies(artifacts: Path, compile_hash: str) -> Iterator[EarlierRun]:
    """Yield the runs on the inputs with this hash that were cut off, newest first.

    Their replies serve the next run. A run that came to its end, with a plan or without a valid
    one, ends the search: after it, the model is asked anew. So does a bug of llmch, which the same
    replies would meet again.
    """
    for folder in sorted((artifacts / "planner").glob("*/"), reverse=True)[:_LOOKED_AT]:
        try:
            head = json.loads(read_plain(folder / "run.json", MAX_DOCUMENT_BYTES))
        except (OSError, ValueError, RecursionError):
            continue
        transcript = folder / "transcript.jsonl"
        if isinstance(head, dict) and head.get("compile_hash") == compile_hash:
            if head.get("status") in (events.Ending.COMPLETED, events.Ending.INTERNAL_ERROR):
                return
            if transcript.is_file():
                yield EarlierRun(transcript)


def check_export(outdir: Path, *, overwrite: bool, repo: Path | None = None) -> None:
    """Raise `InvalidInput` if a plan cannot be exported to `outdir`, or the flags forbid it.

    `repo` is the root of the repo that the plan is for: the plan may not be written into it. The
    check comes before any model is asked, so that nobody pays for a plan that cannot be written.
    """
    named = f"--outdir {outdir}"
    try:
        place = next(each for each in (outdir, *outdir.parents) if _is_there(each))
    except OSError as error:
        raise InvalidInput(
            f"{named} cannot be used: {error.strerror}", "name another folder"
        ) from error
    if not place.is_dir():
        raise InvalidInput(f"{named}: {place} is not a directory", "name a new or existing folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InvalidInput(f"{named}: {place} is not writable", "name another folder")
    if repo is not None and outdir.resolve().is_relative_to(repo.resolve()):
        raise InvalidInput(f"{named} is inside the target repo", "choose a folder outside of it")
    present = list_plan_files(outdir) if outdir.is_dir() else ()
    if present and not overwrite:
        raise InvalidInput(
            f"{named} already holds a plan ({present[-1]})",
            "name another folder, or replace that plan with --overwrite",
        )


def export_plan(outdir: Path, manifest: work_order.Manifest, output: Path) -> None:
    """Write a plan's files to `outdir`, and replace the plan there.

    Raises `CommandFailed` if the disk refuses; the error says that `output` holds the plan.
    """
    try:
        replace_plan(outdir, manifest)
    except LlmchError as refused:
        error = EnvironmentFault if isinstance(refused, EnvironmentFault) else CommandFailed
        raise error(refused.message, f"the plan is not lost: copy it from {output}") from refused


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()
