"""Judges, from its text alone, whether a command of Python's tools can fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.languages.capabilities.commands import (
    CodeRun,
    Command,
    ModuleRun,
    ProgramRun,
    ScriptRun,
    Weakness,
)
from shared.languages.python.commands import PYTEST
from shared.languages.python.weak_code import weakness_of_code

_COLLECTS_ONLY: Final = frozenset({"--collect-only", "--co", "--fixtures", "--markers"})
_SHOWN_BY_PYTEST: Final = frozenset({"--version", "-V", "--help", "-h"})


def weakness(command: Command) -> Weakness | None:
    """Return why a command can hardly fail; `None` where its text shows no reason."""
    match command.run:
        case CodeRun(code, flags):
            optimised = _is_optimised(flags, command)
            return None if code.problem else weakness_of_code(code.source, optimised=optimised)
        case ModuleRun("pytest", flags, arguments):
            if _is_optimised(flags, command):
                return Weakness("W232", "runs with assertions switched off")
            return _weak_pytest(arguments)
        case ModuleRun(arguments=arguments) if arguments and set(arguments) <= {"--version", "-V"}:
            return Weakness("W230", "only shows a version")
        case ProgramRun(arguments) if command.program in PYTEST:
            return _weak_pytest(arguments)
        case ScriptRun(_, flags) if _is_optimised(flags, command):
            return Weakness("W232", "runs with assertions switched off")
        case _:
            return None


def _weak_pytest(arguments: Sequence[str]) -> Weakness | None:
    if _COLLECTS_ONLY & set(arguments):
        return Weakness("W232", "only collects tests and runs none")
    if _SHOWN_BY_PYTEST & set(arguments):
        return Weakness("W230", "only prints")
    return None


def _is_optimised(flags: Sequence[str], command: Command) -> bool:
    return any(each.startswith("-O") for each in flags) or any(
        name == "PYTHONOPTIMIZE" and value for name, value in command.environment
    )
