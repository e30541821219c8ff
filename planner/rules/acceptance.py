"""Finds acceptance commands that can hardly fail, as far as their text shows: W230 to W233."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from planner.rules.model import Rule
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.languages.capabilities.commands import (
    CodeRun,
    Command,
    ProgramRun,
    ShellCodeRun,
    Weakness,
)
from shared.languages.registry import language_named
from shared.work_order.field_path import at

_READS_ONLY: Final = frozenset({"cat", "head", "tail", "wc", "sort", "ls"})
_FILE_TESTS: Final = frozenset({"-a", "-b", "-c", "-d", "-e", "-f", "-r", "-s", "-w", "-x"})
_SHOWS_ONLY: Final = frozenset({"--version", "-V", "--help", "-h"})
_IGNORES_FAILURE = re.compile(
    r"\|\|\s*(?:true|:|exit\s+0)(?:\s|;|$)|;\s*(?:true|exit\s+0)\s*;?\s*$"
)
# In order: text in single quotes, an escaped character, and what a shell would have expanded.
_UNEXPANDED = re.compile(r"'[^']*'|\\.|(\$\(|`)", re.DOTALL)


def weakness(command: Command) -> Weakness | None:
    """Return why the command can hardly fail, `None` where its text shows no reason.

    The time is linear in the length of the text.
    """
    if command.problem or command.operator:
        return None  # it will be another command
    language = language_named(command.language)
    reader = language.commands if language is not None else None
    if isinstance(command.run, CodeRun):
        return reader.weakness(command) if reader is not None else None
    known = reader.weakness(command) if reader is not None else None
    return _unexpanded(command) or known or _weak_run(command)


def _weak_run(command: Command) -> Weakness | None:
    match command.run:
        case ShellCodeRun(text) if _IGNORES_FAILURE.search(text):
            return Weakness("W232", "ends well whatever fails before")
        case ProgramRun(arguments):
            return _weak_program(command.program, arguments)
        case _:
            return None


def _weak_program(program: str, arguments: Sequence[str]) -> Weakness | None:
    if program == "true":
        return Weakness("W232", "cannot fail")
    if program in _READS_ONLY and any(each[:1] != "-" for each in arguments):
        return Weakness("W233", "proves only that a file exists")
    if program == "test":
        wanted = [each for each in arguments if each != "!"]
        if len(wanted) == 2 and wanted[0] in _FILE_TESTS:
            return Weakness("W233", "proves only that a file exists")
        if len(wanted) < 2 or (len(wanted) == 3 and wanted[0] == wanted[2]):
            return Weakness("W232", "compares nothing that an order could change")
    if set(arguments) & _SHOWS_ONLY and len(arguments) == 1:
        return Weakness("W230", "only prints")
    return None


def _unexpanded(command: Command) -> Weakness | None:
    """Return the weakness of a command with `$()` or backticks, which no shell expands."""
    if isinstance(command.run, ShellCodeRun):
        return None
    for found in _UNEXPANDED.finditer(command.text):
        if found[1]:
            shown = "$(...)" if found[1] == "$(" else "`...`"
            return Weakness("W232", f"holds {shown}, which no shell expands: it is taken literally")
    return None


def weak_commands(step: Step) -> Iterator[Finding]:
    """Yield a finding for each command that can hardly fail, at most one for each."""
    for index, command in step.commands:
        if found := weakness(command) or _weak_by_then(step, command):
            yield step.finding(found.code, at("acceptance_commands", index), found.message)


def _weak_by_then(step: Step, command: Command) -> Weakness | None:
    """Return why a command proves little with the files that are there by then."""
    if command.problem or command.operator:
        return None
    found = (each.weakness(step.draft.position, command) for each in step.codes)
    return next((each for each in found if each is not None), None)


W230 = Rule(
    "W230",
    "only imports or prints",
    why="Nobody reads the output of an acceptance command: it passes whatever the code does.",
    remedy="Call what the order adds and assert what comes back.",
)

W231 = Rule(
    "W231",
    "calls without an assertion",
    why="A call that raises no error may still return a wrong result.",
    remedy="Assert what the call returns or changes.",
)

W232 = Rule(
    "W232",
    "cannot fail",
    why=(
        "A tautology, a swallowed failure, an option that leaves assertions out, or a run that "
        "chooses no test passes whatever the code does. Text that only a shell would expand is "
        "taken literally."
    ),
    remedy="Compare a result with the value it must have, and let a failure end the command.",
)

W233 = Rule(
    "W233",
    "asserts existence only",
    why="The existence of a file or a name says nothing about its content.",
    remedy="Call the function, or compare the file's content.",
)
