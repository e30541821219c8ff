"""Checks whether a command's program can be taken for granted: E240."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from planner.plan.projection import Projection
from planner.rules.model import PlanView, Rule
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.commands.commands import SHELLS, analyse_command
from shared.languages.capabilities.commands import Command, ScriptRun
from shared.languages.registry import language_named
from shared.projects.base import VerifyCommand
from shared.projects.programs import PROGRAMS_BY_FILE
from shared.rule_text import quoted
from shared.work_order.field_path import at

_ALWAYS: Final = frozenset(
    {"bash", "sh", "test", "grep", "diff", "cmp", "cat", "ls", "head", "tail", "wc"}
    | {"sort", "env", "true", "false"}
)


def unknown_programs(view: PlanView) -> Iterator[Finding]:
    toolchains = cache(lambda: _toolchains(view.chain))  # few plans ask for any
    for step in view.steps:
        reported: set[str] = set()
        for index, command in step.commands:
            # A command with an operator cannot stay as it is, so its program may change too.
            if command.problem or command.operator or command.program in reported:
                continue
            if not _is_allowed(command, step, toolchains):
                reported.add(command.program)
                message = f"{quoted(command.program)} is no program to be taken for granted here"
                yield step.finding("E240", at("acceptance_commands", index), message)


def _toolchains(chain: Projection) -> Mapping[str, int]:
    """Return, for each toolchain's programs, the position from which its file exists."""
    first: dict[str, int] = {}
    for name, position in _first_of_each_name(chain).items():
        for program, marker in PROGRAMS_BY_FILE.items():
            if marker.fullmatch(name):
                first[program] = min(position, first.get(program, position))
    return first


def _first_of_each_name(chain: Projection) -> Mapping[str, int]:
    first: dict[str, int] = {}
    for table in (chain.first, chain.possible):
        for path, position in table.items():
            name = path.rsplit("/", 1)[-1]
            first[name] = min(position, first.get(name, position))
    return first


def _is_allowed(command: Command, step: Step, toolchains: Callable[[], Mapping[str, int]]) -> bool:
    program, position = command.program, step.draft.position
    if program in _ALWAYS or program in step.target.allowed.programs:
        return True
    language = language_named(command.language)
    if language and language.commands and language.commands.is_always_there(program):
        return True
    if isinstance(command.run, ScriptRun) and program not in SHELLS:
        return True  # a file of the repo; another rule checks whether it exists
    if program in _verifying_programs(step.target.verification):
        return True
    if program not in PROGRAMS_BY_FILE:
        return False
    blind = step.chain.blind_from
    if blind is not None and blind <= position:
        return True
    return toolchains().get(program, position + 1) <= position


@cache
def _verifying_programs(verification: tuple[VerifyCommand, ...]) -> frozenset[str]:
    """Return the programs of the commands that verify the repo: the factory needs them anyway."""
    return frozenset(analyse_command(each.text).program for each in verification)


E240 = Rule(
    "E240",
    "program not allowed",
    why="Commands run in a sandbox with the project's own tools; any other program may be missing.",
    bad='{"acceptance_commands": ["curl http://localhost:8000/health"]}',
    good=r"""{"acceptance_commands": [
  "python -c \"import urllib.parse as parse; assert parse.quote(' ') == '%20'\""
]}""",
    remedy=(
        "Use Python, pytest, bash or plain tools such as test, grep, diff and cmp; a toolchain "
        "only where its file is there (package.json for npm, Cargo.toml for cargo). The user may "
        "allow more as `programs` of [tool.llmch]."
    ),
    check=unknown_programs,
)
