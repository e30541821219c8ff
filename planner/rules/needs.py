"""Finds the modules, scripts and test files that acceptance commands need and do not have.

Each unmet need has exactly one code, so that no two rules report one fault: E217 where a later
order provides it; E210, E241 or E242 where it belongs to the project and nobody provides it; W221
for a third-party module that nobody declares; and W101 where none of that is certain.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from planner.rules.dependencies import read_dependencies
from planner.rules.needed_modules import import_roots, unmet_import, unmet_module_run
from planner.rules.needed_paths import unmet_paths, unmet_script
from planner.rules.placed_command import Layout, PlacedCommand, Unmet, layout_of
from planner.rules.verify_runs import runs_verify_script
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.languages.capabilities.commands import CodeRun, Command, ModuleRun, ScriptRun
from shared.languages.python.commands import needed_paths
from shared.rule_text import quoted, severity_of
from shared.work_order.field_path import at


def unmet_needs(steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield one finding for each unmet need of an order's commands and acceptance files."""
    if not steps:
        return
    layout = layout_of(steps[0].chain, read_dependencies(steps[0].target, steps[0].chain))
    for step in steps:
        if step.draft.order is None:
            continue
        reported: set[str] = set()
        for index, command in step.commands:
            if runs_verify_script(command):
                continue  # E105 wants the command gone, so its needs do not matter
            placed = PlacedCommand(step, index, command, import_roots(command), layout)
            for unmet in _unmet(placed):
                if command.operator and severity_of(unmet.code) == "warning":
                    continue  # the command has to be rewritten: a guess about it is too early
                if unmet.name not in reported:
                    reported.add(unmet.name)
                    yield step.finding(unmet.code, at("acceptance_commands", index), unmet.message)
        yield from _of_acceptance_files(step, layout, reported)


def _of_acceptance_files(step: Step, layout: Layout, reported: set[str]) -> Iterator[Finding]:
    """Yield what the imports of the order's acceptance files need and do not have."""
    for each in step.acceptance_code:
        if "sys.path" in each.code.source:
            continue
        command = Command(each.code.source, run=CodeRun(each.code, (), quoted=True))
        # pytest looks in the folder of a test file, too.
        roots = (*import_roots(command), f"{posixpath.dirname(each.path)}/".removeprefix("/"))
        placed = PlacedCommand(step, len(step.commands), command, roots, layout)
        for needed in each.code.imports:
            for unmet in unmet_import(placed, needed):
                if unmet.name not in reported:
                    reported.add(unmet.name)
                    message = f"{quoted(each.path)} line {needed.line}: {unmet.message}"
                    yield step.finding(unmet.code, each.at, message)


def _unmet(placed: PlacedCommand) -> Iterator[Unmet]:
    match placed.command.run:
        case CodeRun(code) if "sys.path" not in code.source:
            for each in code.imports:
                yield from unmet_import(placed, each)
        case ModuleRun(module):
            yield from unmet_module_run(placed, module)
        case ScriptRun(path):
            yield from unmet_script(placed, path)
        case _:
            pass
    yield from unmet_paths(placed, needed_paths(placed.command))
