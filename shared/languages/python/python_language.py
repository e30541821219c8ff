"""Puts Python behind the protocol of languages. Each method imports what it needs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from shared.languages.base import Language
from shared.languages.capabilities import (
    ContractViolation,
    DefinitionEdit,
    EditRefused,
    Examples,
    NamedCode,
    OutlineEntry,
    Unwritten,
)
from shared.languages.language_tools import CheckerProcess, FaultReport, SecondLook, Tools
from shared.languages.planned_code import Chain, ChainCode
from shared.languages.python.python_code import NAME, has_names_to_declare, is_test_file
from shared.languages.python.python_packages import (
    PythonDependencies,
    PythonFailures,
    PythonPackages,
)
from shared.languages.read_commands import Arguments, Command, Run, Weakness
from shared.work_order.work_order import Interface, WorkOrder

_INTERPRETER = re.compile(r"python(?:3(?:\.[0-9]+)?)?t?")
_DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_PYTEST: Final = frozenset({"pytest", "py.test"})


class PythonOutlines:
    """Implement `Outliner` for Python."""

    name: Final = NAME
    outlined: Final = (".py",)
    fence: Final = "python"
    comment: Final = "#"
    file_noun: Final = "Python module"
    definition: Final = _DEFINITION

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        from shared.languages.python.public_outline import public_names

        return public_names(text, reexports=path.endswith("__init__.py"))


class PythonEdits:
    """Implement `Edits` for Python."""

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        from shared.languages.python.python_source import outline

        return outline(text)

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        from shared.languages.python.definition_edits import edit_definitions

        return edit_definitions(path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        from shared.languages.python.python_source import defined_names

        return defined_names(fragment)

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        from shared.languages.python.python_source import check_rewrite

        return check_rewrite(path, before, after, changes)


class PythonConformance:
    """Implement `Conformance` for Python."""

    def reads(self, path: str) -> bool:
        return path.endswith(PYTHON.suffixes)

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        from shared.languages.python.merge_stubs import contracts_in_force

        in_force = contracts_in_force(orders)
        return tuple(each for each in in_force if each.path.endswith(PYTHON.suffixes))

    def open_checker(self) -> CheckerProcess:
        from shared.languages.python.type_checker import TypeChecker

        return TypeChecker()

    def warm_up(self, tools: Tools) -> None:
        """Have mypy read the standard library's stubs, which take most of a first question."""
        from shared.languages.python.python_code import ROOTS

        checker = tools.checker(NAME, self.open_checker)
        checker.check({"nothing.py": ""}, ["nothing.py"], ROOTS)

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        from shared.languages.python.conformance import check_conformance

        checker = tools.checker(NAME, self.open_checker)
        return check_conformance(interfaces, sources, checker)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        from shared.languages.python.skeletons import build_skeleton

        return build_skeleton(interfaces, sources)


class PythonNotes:
    """Implement `Notes` for Python."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        from shared.languages.python.code_notes import find_unwritten

        return find_unwritten(path, before, after)

    def names_in(self, source: str) -> Collection[str] | None:
        from shared.languages.python.code_notes import names_in

        return names_in(source)

    def note_syntax(self, path: str, source: str) -> str:
        from shared.languages.python.code_notes import note_syntax

        return note_syntax(path, source)

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        from shared.languages.python.code_notes import note_errors

        return note_errors(output, sources, files)


class PythonCommands:
    """Implement `CommandReader` for Python's interpreters and pytest."""

    def knows(self, program: str) -> bool:
        return program in _PYTEST or _INTERPRETER.fullmatch(program) is not None

    def is_always_there(self, program: str) -> bool:
        """Return true: the factory brings Python and pytest into each sandbox."""
        return program != "py.test"

    def read_run(self, program: str, arguments: Arguments) -> Run:
        from shared.languages.python.python_commands import read_run

        return read_run(program, arguments)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        from shared.languages.python.python_commands import needed_paths

        return needed_paths(command)

    def script_paths(self, path: str) -> tuple[str, ...]:
        return path, f"{path}/__main__.py"

    def read_paths(self, command: Command) -> Iterator[str]:
        from shared.languages.python.python_commands import read_paths

        return read_paths(command)

    def makes_files(self, command: Command) -> bool:
        """Return false: no tool of Python builds what another command runs by its path."""
        return False

    def module_paths(self, module: str) -> Iterator[str]:
        from shared.languages.python.python_commands import module_paths

        return module_paths(module)

    def is_loaded_unasked(self, path: str) -> bool:
        return posixpath.basename(path) == "conftest.py"

    def weakness(self, command: Command) -> Weakness | None:
        from shared.languages.python.python_commands import weakness

        return weakness(command)


class PythonReports:
    """Implement `Reports` for pytest, tracebacks and linters of Python."""

    def find_failed_tests(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        from shared.languages.python.python_reports import find_test_failures

        return find_test_failures(lines)

    def find_faults(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        from shared.languages.language_tools import find_faults
        from shared.languages.python.python_reports import TOOLS, find_tracebacks

        yield from find_tracebacks(lines)
        yield from find_faults(TOOLS, lines)

    def second_look(self, argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
        from shared.languages.python.second_look import second_look

        return second_look(argv, stderr)


class PythonPlans:
    """Implement `Plans` for Python."""

    def has_names_to_declare(self, path: str) -> bool:
        return has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        return is_test_file(path)

    def module_name(self, path: str) -> str:
        return posixpath.basename(path).removesuffix(".py")

    def read_chain(self, chain: Chain) -> ChainCode:
        from shared.languages.python.judge_code import PythonChain

        return PythonChain(chain)


PYTHON: Final = Language(
    PythonOutlines(),
    more_suffixes=(".pyi",),
    commands=PythonCommands(),
    contracted=(".py", ".pyi"),
    plans=PythonPlans(),
    conformance=PythonConformance(),
    edits=PythonEdits(),
    notes=PythonNotes(),
    packages=PythonPackages(),
    dependencies=PythonDependencies(),
    failures=PythonFailures(),
    reports=PythonReports(),
    examples=Examples("shared.languages.python"),
)
