"""Answers what can be said of the Python of a planned chain."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from shared.languages.capabilities.chain import AcceptanceText, Chain, Fault, Need
from shared.languages.capabilities.commands import CodeRun, Command, ModuleRun, Weakness
from shared.languages.capabilities.tools import Tools
from shared.languages.python.files import NAME, ROOTS
from shared.languages.python.planned.interfaces import interface_faults
from shared.languages.python.planned.modules import (
    Layout,
    PlacedCode,
    import_roots,
    layout_of,
    unmet_import,
    unmet_module_run,
)
from shared.languages.python.planned.project import Project, read_project


class PythonChain:
    """Implement `ChainCode` for Python."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @cached_property
    def _project(self) -> Project:
        return read_project(self._chain)

    @cached_property
    def _layout(self) -> Layout:
        return layout_of(self._chain)

    def interface_faults(self) -> Iterator[Fault]:
        """Yield what is wrong with the stubs, and the modules that have none."""
        return interface_faults(self._project)

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield the modules that a command imports or runs and that nothing provides."""
        match command.run:
            case CodeRun(code) if command.language == NAME and "sys.path" not in code.source:
                placed = self._place(position, import_roots(command))
                for each in code.imports:
                    yield from unmet_import(placed, each)
            case ModuleRun(module) if command.language == NAME:
                yield from unmet_module_run(self._place(position, import_roots(command)), module)
            case _:
                return

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield the modules that a test file imports and that nothing provides."""
        tests = self._project.orders[position - 1].tests
        code = next((each.code for each in tests if each.file == file), None)
        if code is None or "sys.path" in code.source:
            return
        # pytest looks in the folder of a test file, too.
        roots = (*ROOTS, f"{posixpath.dirname(file.path)}/".removeprefix("/"))
        placed = self._place(position, roots)
        for imported in code.imports:
            for need in unmet_import(placed, imported):
                yield replace(need, line=imported.line)

    def _place(self, position: int, roots: tuple[str, ...]) -> PlacedCode:
        return PlacedCode(self._project, self._layout, position, roots)

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield what the type checker objects to in commands and test files."""
        from shared.languages.python.planned.judging.judgement import judge_types

        return judge_types(self._project, tools)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return nothing: the text of a command shows all that is known of it."""
        return None
