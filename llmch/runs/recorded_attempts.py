"""Reads what is on record of attempts, of the commands that judged them, and of calls of models.

What quotes a model is read within bounds.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from factory.orders.documents import AttemptRecord, CmdResult, RunSummary, SandboxRecord
from factory.record.runs_on_record import AttemptOnRecord, RunOnRecord, attempts_of_order
from factory.workbench.tree import patch_of_attempt
from llmch.runs.run_model import (
    AttemptView,
    CallView,
    Change,
    CommandView,
    Excerpt,
    Judged,
    Output,
    SandboxUse,
    TimeSpan,
)
from shared.errors import InvalidInput, LlmchError
from shared.files.text_sources import read_regular_file
from shared.files.typed_documents import Faults, read_record
from shared.git import trees
from shared.git.client import Git
from shared.processes.shell_words import UnsplittableError, split_words
from shared.work_order.parse_order import order_key
from shared.work_order.work_order import WorkOrder

VERIFICATION = "verification"
ACCEPTANCE = "acceptance"
_OF_ATTEMPT = (("verify_result.json", VERIFICATION), ("acceptance_result.json", ACCEPTANCE))
_BEFORE = (("baseline", "before the work"), ("hollow", "on code that does nothing"))
_RESULTS = "acceptance_result.json"
_BY_ITSELF = "exited"
_MOST_RESULTS = 1_000


Written = Mapping[tuple[str, ...], str]
"""Commands by their words, as an order writes them: that is easier to read than quoted words."""


def as_written(commands: Iterable[str]) -> Written:
    """Return the commands of an order by their words."""
    found: dict[tuple[str, ...], str] = {}
    for command in commands:
        with contextlib.suppress(UnsplittableError):
            found[split_words(command).texts] = command
    return found


def trials_of_order(folder: Path, written: Written, faults: Faults) -> tuple[CommandView, ...]:
    """Return the acceptance commands of an order as they were tried before its work was done."""
    return tuple(
        _command(each, purpose, folder, written)
        for name, purpose in _BEFORE
        for each in _results(folder / name / _RESULTS, faults)
    )


_MOST_RUNS = 100


def fail_on_hollow_code(
    runs: Iterable[RunOnRecord], orders: Iterable[WorkOrder]
) -> Mapping[str, bool]:
    """Return, for orders with such a trial on record, whether all commands failed in it.

    The trial is that of the newest of the `runs` that was asked for the very order. Commands that
    are meant to pass before the order do not count.
    """
    keys = {order_key(each): each for each in orders}
    found: dict[str, bool] = {}
    for run in islice(runs, _MOST_RUNS):
        for asked in run.head.orders:
            order = keys.get(asked.order_key)
            if order is None or order.id in found:
                continue
            before = as_written(order.regression)
            tried = _results(run.folder_of(asked.id) / "hollow" / _RESULTS, Faults())
            codes = [each.exit_code for each in tried if each.command not in before]
            if codes:
                found[order.id] = 0 not in codes
    return found


def _results(path: Path, faults: Faults) -> tuple[CmdResult, ...]:
    return (read_record(path, tuple[CmdResult, ...], faults) or ())[:_MOST_RESULTS]


def sandboxes_of(commands: Iterable[CommandView]) -> tuple[SandboxUse, ...]:
    """Return the sandboxes that commands ran in, each of them once, with the number of commands."""
    used = [each.sandbox for each in commands if each.sandbox is not None]
    found: list[SandboxRecord] = []
    found += (each for each in used if each not in found)
    return tuple(SandboxUse(each, used.count(each)) for each in found)


def _command(result: CmdResult, purpose: str, base: Path, written: Written) -> CommandView:
    return CommandView(
        purpose=purpose,
        text=written.get(result.command) or shlex.join(result.command),
        exit_code=result.exit_code,
        seconds=result.duration_seconds,
        stdout=_output(result.stdout_trunc, result.stdout_path, base),
        stderr=_output(result.stderr_trunc, result.stderr_path, base),
        tests=result.tests.describe() if result.tests else "",
        note=", ".join(_notes(result)),
        sandbox=result.sandbox if result.sandbox.backend else None,
        by_itself=result.cause == _BY_ITSELF,
    )


def _output(text: str, path: str, base: Path) -> Output:
    return Output(text, path, _size_within(base, path))


def _size_within(base: Path, path: str) -> int | None:
    """Return the size of a log, which has to lie below the folder that its record lies in."""
    try:
        log = (base / path).resolve()
        if path and log.is_relative_to(base.resolve()) and log.is_file():
            return log.stat().st_size
    except (OSError, ValueError):
        pass
    return None


def _notes(result: CmdResult) -> Iterator[str]:
    if result.cause != _BY_ITSELF:
        yield result.cause.replace("_", " ")
    if result.flaky:
        yield "flaky: it passed when it was run again"
    if result.note:
        yield result.note


MOST_PATCH_BYTES = 256 * 1024
"""A patch that is longer is cut; a page shows even less of it."""


@dataclass(frozen=True, slots=True)
class AttemptGround:
    """Hold what the attempts at an order have in common.

    `git` is `None` if the repo is not here. `summary` is that of the order, if there is one, and
    `written` has the words of its commands as the order writes them. `faults` gets what cannot be
    read.
    """

    run: RunOnRecord
    order: str
    git: Git | None
    common_dir: Path
    summary: RunSummary | None
    written: Written
    faults: Faults


def attempts_of(
    ground: AttemptGround, times: Mapping[tuple[str, int], TimeSpan]
) -> tuple[AttemptView, ...]:
    """Return the attempts of a run at an order; `times` has their spans by order and number."""
    recorded = ground.summary.attempt_records if ground.summary else ()
    records = {each.attempt_index: each for each in recorded}
    found = attempts_of_order(ground.run, ground.order, ground.common_dir, ground.faults)
    return tuple(
        _attempt(each, ground, records.get(each.number), times.get((ground.order, each.number)))
        for each in found
    )


def _attempt(
    attempt: AttemptOnRecord,
    ground: AttemptGround,
    record: AttemptRecord | None,
    span: TimeSpan | None,
) -> AttemptView:
    record = record or AttemptRecord(attempt_index=attempt.number)
    brief = attempt.brief
    judged = Judged.PASSED if attempt.passed else Judged.FAILED if brief else Judged.OPEN
    # The change of the order is the one that landed.
    has_landed = attempt.passed and ground.summary and ground.summary.commit
    return AttemptView(
        number=attempt.number,
        judged=judged,
        model=record.model or "",
        summary=attempt.proposal.summary if attempt.proposal else "",
        start=span.start if span else None,
        end=span.end if span else None,
        brief=brief,
        change=Change() if has_landed else _change(attempt, ground.git),
        commands=tuple(
            _command(each, purpose, attempt.folder.parent, ground.written)
            for name, purpose in _OF_ATTEMPT
            for each in _results(attempt.folder / name, ground.faults)
        ),
        asked_again=tuple(f"{each.reason}: {each.note}" for each in record.questions),
        agent=record.agent,
        repeats=record.repeats,
        calls=calls_of_attempt(attempt.folder, ground.run.folder),
    )


def _change(attempt: AttemptOnRecord, git: Git | None) -> Change:
    command = f"llmch diff {attempt.run.run_id} {attempt.order} {attempt.number}"
    try:
        if attempt.patch is None and git is None:
            return Change(missing="its repository is not here, so nothing can be compared")
        patch = attempt.patch if git is None else patch_of_attempt(git, attempt)
    except LlmchError as error:
        return Change(missing=error.message, command=command)
    if not patch:
        return Change(missing="nothing was proposed, or nothing that changes a file")
    return _shown(patch, command)


def change_of_commit(git: Git | None, parent: str, commit: str) -> Change:
    """Return what a commit changes, or why nobody can say so here.

    `parent` is "" if it is not on record; then it is the commit's first one.
    """
    if git is None:
        return Change(missing="its repository is not here")
    command = f"git diff {parent[:12] or f'{commit[:12]}^'} {commit[:12]}"
    try:
        return _shown(trees.between(git, parent or f"{commit}^", commit), command)
    except LlmchError:
        return Change(missing=f"the repository does not have {commit[:12]} with its parent")


def _shown(patch: bytes, command: str) -> Change:
    text = patch[:MOST_PATCH_BYTES].decode("utf-8", "replace")
    return Change(text, command=command, is_cut=len(patch) > MOST_PATCH_BYTES)


_HEAD_BYTES: Final = 16_000
_TAIL_BYTES: Final = 8_000
_MOST_CALLS: Final = 20  # of an attempt; a model is asked three times at most
_AGAIN: Final = re.compile(r"se_prompt(_again_[0-9]{1,3})?\.txt")
_PLANNERS: Final = re.compile(
    r"prompt_attempt_([0-9]{1,3}(?:_WO-[0-9]{2,4}|_look_[0-9]{1,2})?)\.txt"
)
_PLANNERS_REPLY: Final = "llm_raw_response_attempt_{0}.txt"
_REASONING: Final = "llm_reasoning_attempt_{0}.txt"
_REVIEWERS: Final = "reviewer_prompt{0}.txt", "reviewer_response{0}.json"


def calls_of_attempt(folder: Path, records: Path) -> tuple[CallView, ...]:
    """Return the calls of an attempt at an order; `records` is the folder of the run."""
    names = (each.name for each in folder.iterdir()) if folder.is_dir() else ()
    found = filter(None, map(_AGAIN.fullmatch, names))
    again = sorted((each[1] or "" for each in found), key=lambda each: (len(each), each))
    pairs = ((f"se_prompt{each}.txt", f"raw_llm_response{each}.txt") for each in again)
    return tuple(_calls(islice(pairs, _MOST_CALLS), folder, records))


def calls_of_plan_attempt(folder: Path, number: int, records: Path) -> tuple[CallView, ...]:
    """Return the calls of an attempt at the plan, with their reasoning; none without a record.

    There are several where a plan is made in stages, and where the model looked at the repo first.
    """
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    names.sort(key=lambda name: ("_look_" not in name, name))
    found = [match[1] for match in map(_PLANNERS.fullmatch, names) if match]
    views: list[CallView] = []
    for asked in [each for each in found if each.partition("_")[0] == str(number)][:_MOST_CALLS]:
        reasoning = excerpt_of(folder / _REASONING.format(asked), records)
        pair = (f"prompt_attempt_{asked}.txt", _PLANNERS_REPLY.format(asked))
        for each in _calls([pair], folder, records):
            thought = reasoning if reasoning and reasoning.head else None
            views.append(CallView(each.prompt, each.reply, thought))
    return tuple(views)


def calls_of_review(folder: Path, number: int, records: Path) -> tuple[CallView, ...]:
    """Return the call of a round of review; none without a record."""
    suffix = "" if number == 1 else f"_{number}"
    prompt, reply = (each.format(suffix) for each in _REVIEWERS)
    return tuple(_calls([(prompt, reply)], folder, records))


def _calls(pairs: Iterable[tuple[str, str]], folder: Path, records: Path) -> Iterator[CallView]:
    for prompt, reply in pairs:
        asked = excerpt_of(folder / prompt, records)
        if asked is not None:
            yield CallView(asked, excerpt_of(folder / reply, records))


def excerpt_of(path: Path, records: Path) -> Excerpt | None:
    """Return the beginning and the end of a file; `None` if it cannot be read."""
    name = str(path.relative_to(records)) if path.is_relative_to(records) else path.name
    both = _HEAD_BYTES + _TAIL_BYTES
    try:
        found = read_regular_file(path, "record", both)
        if found.size <= both:
            return Excerpt(_text(found.data), path=name)
        end = read_regular_file(path, "record", _TAIL_BYTES, skipped=found.size - _TAIL_BYTES)
    except InvalidInput:
        return None
    head = found.data[:_HEAD_BYTES]
    return Excerpt(_text(head), _text(end.data), found.size - len(head) - len(end.data), name)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
