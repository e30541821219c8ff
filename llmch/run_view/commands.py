"""Reads what is on record of commands: how they ended, what they printed, and in which sandbox."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from llmch.run_view.documents import read_list
from llmch.run_view.fields import Fields
from llmch.run_view.model.commands import CommandView, Output, SandboxView
from shared.shell_words import UnsplittableError, split_words

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
