"""Reads what is on record of attempts and of the commands that judged them."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from factory.record.runs_on_record import AttemptOnRecord, RunOnRecord, attempts_of_order
from factory.workbench.tree import patch_of_attempt
from llmch.runs.record_files import Fields, calls_of_attempt, read_fields, read_list
from llmch.runs.run_model import (
    AttemptView,
    BriefView,
    Change,
    CommandView,
    Judged,
    Output,
    SandboxView,
    TimeSpan,
)
from shared.errors import LlmchError
from shared.git import trees
from shared.git.client import Git
from shared.processes.shell_words import UnsplittableError, split_words

VERIFICATION = "verification"
ACCEPTANCE = "acceptance"
_OF_ATTEMPT = (("verify_result.json", VERIFICATION), ("acceptance_result.json", ACCEPTANCE))
_BEFORE = (("baseline", "before the work"), ("hollow", "on code that does nothing"))
_RESULTS = "acceptance_result.json"
_BY_ITSELF = "exited"


Written = Mapping[tuple[str, ...], str]
"""Commands by their words, as an order writes them: that is easier to read than quoted words."""


def as_written(commands: Iterable[str]) -> Written:
    """Return the commands of an order by their words."""
    found: dict[tuple[str, ...], str] = {}
    for command in commands:
        with contextlib.suppress(UnsplittableError):
            found[split_words(command).texts] = command
    return found


def commands_of_attempt(folder: Path, written: Written) -> tuple[CommandView, ...]:
    """Return the commands that judged the attempt whose records are in `folder`."""
    return tuple(
        _command(each, purpose, folder.parent, written)
        for name, purpose in _OF_ATTEMPT
        for each in read_list(folder / name)
    )


def trials_of_order(folder: Path, written: Written) -> tuple[CommandView, ...]:
    """Return the acceptance commands of an order as they were tried before its work was done."""
    return tuple(
        _command(each, purpose, folder, written)
        for name, purpose in _BEFORE
        for each in read_list(folder / name / _RESULTS)
    )


def sandboxes_of(commands: Iterable[CommandView]) -> tuple[SandboxView, ...]:
    """Return the sandboxes that commands ran in, each of them once, with the number of commands."""
    found: dict[SandboxView, int] = {}
    for each in commands:
        if each.sandbox is not None:
            found[each.sandbox] = found.get(each.sandbox, 0) + 1
    return tuple(replace(sandbox, commands=number) for sandbox, number in found.items())


def _command(record: Fields, purpose: str, base: Path, written: Written) -> CommandView:
    words = record.texts("command")
    return CommandView(
        purpose=purpose,
        text=written.get(words) or shlex.join(words),
        exit_code=record.whole("exit_code"),
        seconds=record.number("duration_seconds"),
        stdout=_output(record, "stdout", base),
        stderr=_output(record, "stderr", base),
        tests=_tests(record.fields("tests")),
        note=", ".join(_notes(record)),
        sandbox=_sandbox(record.fields("sandbox")),
        by_itself=record.text("cause") in ("", _BY_ITSELF),
    )


def _output(record: Fields, stream: str, base: Path) -> Output:
    path = record.text(f"{stream}_path")
    return Output(record.text(f"{stream}_trunc"), path, _size_within(base, path))


def _size_within(base: Path, path: str) -> int | None:
    """Return the size of a log, which has to lie below the folder that its record lies in."""
    try:
        log = (base / path).resolve()
        if path and log.is_relative_to(base.resolve()) and log.is_file():
            return log.stat().st_size
    except (OSError, ValueError):
        pass
    return None


def _tests(tests: Fields) -> str:
    passed, failed = tests.whole("passed"), tests.whole("failed")
    if passed is None or failed is None:
        return ""
    parts = [f"{passed:,} passed"]
    if failed:
        parts.append(f"{failed:,} failed")
    if skipped := tests.whole("skipped"):
        parts.append(f"{skipped:,} skipped")
    least = "at least " if tests.is_true("at_least") else ""
    return f"{least}{', '.join(parts)}"


def _notes(record: Fields) -> Iterator[str]:
    cause = record.text("cause")
    if cause and cause != _BY_ITSELF:
        yield cause.replace("_", " ")
    if record.is_true("flaky"):
        yield "flaky: it passed when it was run again"
    if note := record.text("note"):
        yield note


def _sandbox(record: Fields) -> SandboxView | None:
    if not record.text("backend"):
        return None
    guarantees = record.fields("guarantees").value
    limits = record.fields("limits")
    return SandboxView(
        backend=record.text("backend"),
        version=record.text("version"),
        held=tuple(name for name, holds in guarantees.items() if holds is True),
        missing=tuple(name for name, holds in guarantees.items() if holds is not True),
        limits=tuple((name, limits.whole(name) or 0) for name in limits.value),
    )


MOST_PATCH_BYTES = 256 * 1024
"""A patch that is longer is cut; a page shows even less of it."""


@dataclass(frozen=True, slots=True)
class AttemptGround:
    """Hold what the attempts at an order have in common.

    `git` is `None` where the repo is not here. `summary` is that of the order, and `written` has
    the words of its commands as the order writes them.
    """

    run: RunOnRecord
    order: str
    git: Git | None
    common_dir: Path
    summary: Fields
    written: Written


def attempts_of(
    ground: AttemptGround, times: Mapping[tuple[str, int], TimeSpan]
) -> tuple[AttemptView, ...]:
    """Return the attempts of a run at an order; `times` has their spans by order and number."""
    records = {each.whole("attempt_index"): each for each in ground.summary.many("attempt_records")}
    return tuple(
        _attempt(
            each, ground, records.get(each.number, Fields()), times.get((ground.order, each.number))
        )
        for each in attempts_of_order(ground.run, ground.order, ground.common_dir)
    )


def _attempt(
    attempt: AttemptOnRecord, ground: AttemptGround, record: Fields, span: TimeSpan | None
) -> AttemptView:
    brief = brief_of(read_fields(attempt.folder / "failure_brief.json"))
    judged = Judged.PASSED if attempt.passed else Judged.FAILED if brief else Judged.OPEN
    # What landed is the change of the order.
    has_landed = attempt.passed and ground.summary.text("commit")
    return AttemptView(
        number=attempt.number,
        judged=judged,
        model=record.text("model"),
        summary=attempt.proposal.summary if attempt.proposal else "",
        start=span.start if span else None,
        end=span.end if span else None,
        brief=brief,
        change=Change() if has_landed else _change(attempt, ground.git),
        commands=commands_of_attempt(attempt.folder, ground.written),
        asked_again=tuple(
            f"{each.text('reason')}: {each.text('note')}" for each in record.many("questions")
        ),
        repairs=record.texts("repairs"),
        repeats=record.whole("repeats"),
        calls=calls_of_attempt(attempt.folder, ground.run.folder),
    )


def brief_of(record: Fields) -> BriefView | None:
    """Return why something failed, out of its record; `None` where there is no record."""
    if not record.text("stage"):
        return None
    return BriefView(
        stage=record.text("stage"),
        command=record.text("command"),
        exit_code=record.whole("exit_code"),
        excerpt=record.text("primary_error_excerpt") or record.text("excerpt"),
        facts=record.texts("facts"),
        remedy=record.text("remedy"),
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

    `parent` is "" where it is not on record; then it is the commit's first one.
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
