"""Finds out whether a command runs the whole verification of the project, however spelled."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache

from shared.commands.commands import SHELLS, analyse_command
from shared.languages.capabilities.commands import Command, ProgramRun, ScriptRun, ShellCodeRun
from shared.projects.base import VerifyCommand
from shared.projects.programs import PACKAGE_TOOLS
from shared.work_order.schemas import VERIFY_SCRIPT

_BETWEEN_COMMANDS = re.compile(r"[;&|\n]+")
_FILE_NAME = posixpath.basename(VERIFY_SCRIPT)
_MAX_PIECES = 100
_SOURCING = frozenset({".", "source"})


def runs_verify_script(command: Command) -> bool:
    """Say whether `command` runs `scripts/verify.sh`: itself, by a shell, or within `-c` text.

    A shell that only reads the script (`bash -n`) does not run it.
    """
    match command.run:
        case ScriptRun(path, flags):
            direct = command.program not in SHELLS and not command.language
            by_shell = command.program in SHELLS and not any(map(_is_noexec, flags))
            return (direct or by_shell) and _is_verify_script(path)
        case ShellCodeRun(text):
            pieces = _BETWEEN_COMMANDS.split(text, _MAX_PIECES) if _FILE_NAME in text else []
            return any(runs_verify_script(analyse_command(piece)) for piece in pieces)
        case ProgramRun(arguments) if command.program in _SOURCING:
            return bool(arguments) and _is_verify_script(arguments[0])
        case _:
            return False


def runs_all_of(command: Command, verification: Sequence[VerifyCommand]) -> str:
    """Return the verifying command that `command` is, word for word; "" where it is none."""
    return next((each.text for each in verification if command.argv in _spellings(each)), "")


@cache
def _spellings(command: VerifyCommand) -> tuple[tuple[str, ...], ...]:
    words = [analyse_command(each).argv for each in (command.text, command.defined) if each]
    tool, *script = words[0] or ("",)
    if tool in PACKAGE_TOOLS and script == ["test"]:
        words += [(tool, "t"), (tool, "run", "test")]  # the same script by its other names
    return tuple(each for each in words if each)


def _is_verify_script(path: str) -> bool:
    return posixpath.normpath(path) == VERIFY_SCRIPT


def _is_noexec(flag: str) -> bool:
    short = flag.startswith("-") and not flag.startswith("--")
    return (short and "n" in flag) or flag == "noexec"
