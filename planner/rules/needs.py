"""Finds the modules, scripts and test files that acceptance commands need and do not have.

Each unmet need has exactly one code, so that no two rules report one fault: E217 where a later
order provides it; E210, E241 or E242 where it belongs to the project and nobody provides it; W221
for a third-party module that nobody declares; and W101 where none of that is certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.rules.needed_paths import unmet_paths, unmet_script
from planner.rules.placed_command import PlacedCommand
from planner.rules.verify_runs import runs_verify_script
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.languages.capabilities.chain import Need
from shared.languages.capabilities.commands import Command, ScriptRun
from shared.languages.registry import language_named
from shared.rule_text import quoted, severity_of
from shared.work_order.field_path import at


def unmet_needs(steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield one finding for each unmet need of an order's commands and acceptance files."""
    for step in steps:
        if step.draft.order is None:
            continue
        reported: set[str] = set()
        for index, command in step.commands:
            if runs_verify_script(command):
                continue  # E105 wants the command gone, so its needs do not matter
            for need in _of_command(step, index, command):
                if command.operator and severity_of(need.code) == "warning":
                    continue  # the command has to be rewritten: a guess about it is too early
                if need.name not in reported:
                    reported.add(need.name)
                    yield step.finding(need.code, at("acceptance_commands", index), need.message)
        yield from _of_acceptance_files(step, reported)


def _of_command(step: Step, index: int, command: Command) -> Iterator[Need]:
    placed = PlacedCommand(step, index, command)
    for each in step.codes:
        yield from each.needs_of_command(step.draft.position, command)
    if isinstance(command.run, ScriptRun):
        yield from unmet_script(placed, command.run.path)
    language = language_named(command.language)
    if language is not None and language.commands is not None:
        yield from unmet_paths(placed, language.commands.needed_paths(command))


def _of_acceptance_files(step: Step, reported: set[str]) -> Iterator[Finding]:
    """Yield what the imports of the order's acceptance files need and do not have."""
    for file in step.code.acceptance_files:
        for each in step.codes:
            for need in each.needs_of_file(step.draft.position, file):
                if need.name not in reported:
                    reported.add(need.name)
                    line = f" line {need.line}" if need.line else ""
                    message = f"{quoted(file.path)}{line}: {need.message}"
                    field = at("acceptance_files", file.index, "content")
                    yield step.finding(need.code, field, message)
