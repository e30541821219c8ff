"""Finds the Python in a plan's commands and acceptance files, each with its place in the plan."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.languages.capabilities.chain import Fault
from shared.languages.capabilities.commands import Code, CodeRun
from shared.languages.python.code import parse_code
from shared.languages.python.files import NAME
from shared.languages.python.planned.project import PlannedOrder, Project
from shared.rule_text import quoted
from shared.work_order.field_path import FieldPath, at

_COMMANDS: Final = "llmch_commands/"


@dataclass(frozen=True, slots=True)
class Question:
    """Hold the code of one command or acceptance file, and its place in the plan.

    `name` tells apart the code of one order. `file` is the path of an acceptance file; empty for a
    command.
    """

    project: Project
    planned: PlannedOrder
    at: FieldPath
    name: str
    file: str
    source: str
    tree: ast.Module

    @property
    def path(self) -> str:
        """Return the path under which the checker is shown the code."""
        return f"{_COMMANDS}{self.name}_{self.planned.position}.py"

    @property
    def subject(self) -> str:
        """Return how a message names the code as a whole."""
        return quoted(self.file) if self.file else "the code after `-c`"

    def fault(self, code: str, message: str) -> Fault:
        """Return a fault at a place in the code; that of a file is named with its path."""
        shown = f"{quoted(self.file)} {message}" if self.file else message
        return self.whole(code, shown)

    def whole(self, code: str, message: str) -> Fault:
        """Return a fault of the code as a whole, or of the field that holds it."""
        return Fault(code, self.planned.position, self.at, message)

    @property
    def imported(self) -> Iterator[str]:
        """Yield the dotted names that the code may import."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from (each.name for each in names)
                case ast.ImportFrom(module=str(module), names=names, level=0):
                    yield module
                    yield from (f"{module}.{each.name}" for each in names)
                case _:
                    pass


def questions_of(project: Project, planned: PlannedOrder) -> Iterator[Question]:
    """Yield the code of the order's commands and acceptance files, as far as it parses."""
    tests = (
        (at("acceptance_files", each.file.index, "content"), each.file, each.code)
        for each in planned.tests
    )
    codes = [
        *((at("acceptance_commands", n), f"c{n}", "", code) for n, code in _codes(planned)),
        *((field, f"t{file.index}", file.path, code) for field, file, code in tests),
    ]
    for field, name, file, code in codes:
        tree = parse_code(code.source)
        if isinstance(tree, ast.Module):
            yield Question(project, planned, field, name, file, code.source, tree)


def _codes(planned: PlannedOrder) -> Iterator[tuple[int, Code]]:
    """Yield the code of each command whose code compiles and is not cut off by an operator."""
    for index, command in planned.order.commands:
        run = command.run
        if not planned.order.valid or command.language != NAME or not isinstance(run, CodeRun):
            continue
        if run.code.problem is None and (run.quoted or command.operator is None):
            yield index, run.code
