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
        """Return the public names of a module, and what a package passes on."""
        from shared.languages.python.public_outline import public_names

        return public_names(text, reexports=path.endswith("__init__.py"))


class PythonEdits:
    """Implement `Edits` for Python."""

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        """Return the functions and classes outside functions; none if the file does not parse."""
        from shared.languages.python.python_source import outline

        return outline(text)

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        """Return the splices by which functions and classes get their new code, or why not."""
        from shared.languages.python.definition_edits import edit_definitions

        return edit_definitions(path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        """Return the names of the functions and classes that begin in `fragment`."""
        from shared.languages.python.python_source import defined_names

        return defined_names(fragment)

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return a violation for each lost public name, and for the loss of half of the text."""
        from shared.languages.python.python_source import check_rewrite

        return check_rewrite(path, before, after, changes)


class PythonConformance:
    """Implement `Conformance` for Python."""

    def reads(self, path: str) -> bool:
        """Return whether the file is a module or a stub."""
        return path.endswith(PYTHON.suffixes)

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one stub for each module with the declarations that hold after these orders."""
        from shared.languages.python.merge_stubs import contracts_in_force

        in_force = contracts_in_force(orders)
        return tuple(each for each in in_force if each.path.endswith(PYTHON.suffixes))

    def open_checker(self) -> CheckerProcess:
        """Return mypy in a process of its own."""
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
        """Return what in `sources` contradicts the stubs in `interfaces`."""
        from shared.languages.python.conformance import check_conformance

        checker = tools.checker(NAME, self.open_checker)
        return check_conformance(interfaces, sources, checker)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return modules by path whose functions return 0, "", [] and the like."""
        from shared.languages.python.skeletons import build_skeleton

        return build_skeleton(interfaces, sources)


class PythonNotes:
    """Implement `Notes` for Python."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return the functions whose bodies are empty, placeholders, or a constant."""
        from shared.languages.python.code_notes import find_unwritten

        return find_unwritten(path, before, after)

    def names_in(self, source: str) -> Collection[str] | None:
        """Return the names of a module and its classes; `None` where it makes them as it runs."""
        from shared.languages.python.code_notes import names_in

        return names_in(source)

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that quotes the line that does not parse."""
        from shared.languages.python.code_notes import note_syntax

        return note_syntax(path, source)

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return what exists in the place of names that Python's errors in `output` miss."""
        from shared.languages.python.code_notes import note_errors

        return note_errors(output, sources, files)


class PythonCommands:
    """Implement `CommandReader` for Python's interpreters and pytest."""

    def knows(self, program: str) -> bool:
        """Return whether `program` is an interpreter of any version, or pytest."""
        return program in _PYTEST or _INTERPRETER.fullmatch(program) is not None

    def is_always_there(self, program: str) -> bool:
        """Return true: the factory brings Python and pytest into each sandbox."""
        return program != "py.test"

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return the code, module or script that an interpreter runs."""
        from shared.languages.python.python_commands import read_run

        return read_run(program, arguments)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return the files and folders that pytest or `py_compile` is given."""
        from shared.languages.python.python_commands import needed_paths

        return needed_paths(command)

    def script_paths(self, path: str) -> tuple[str, ...]:
        """Return the script, and the module that an interpreter runs of a folder."""
        return path, f"{path}/__main__.py"

    def read_paths(self, command: Command) -> Iterator[str]:
        """Yield the files of the modules that a command imports or runs."""
        from shared.languages.python.python_commands import read_paths

        return read_paths(command)

    def makes_files(self, command: Command) -> bool:
        """Return false: no tool of Python builds what another command runs by its path."""
        return False

    def module_paths(self, module: str) -> Iterator[str]:
        """Yield the paths that a module and the packages around it may have."""
        from shared.languages.python.python_commands import module_paths

        return module_paths(module)

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether pytest loads the file by itself."""
        return posixpath.basename(path) == "conftest.py"

    def weakness(self, command: Command) -> Weakness | None:
        """Return why code, or a run of pytest, can hardly fail."""
        from shared.languages.python.python_commands import weakness

        return weakness(command)


class PythonReports:
    """Implement `Reports` for pytest, tracebacks and linters of Python."""

    def find_failed_tests(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield pytest's reports, which hold tracebacks of their own."""
        from shared.languages.python.python_reports import find_test_failures

        return find_test_failures(lines)

    def find_faults(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield tracebacks, and what linters complain about."""
        from shared.languages.language_tools import find_faults
        from shared.languages.python.python_reports import TOOLS, find_tracebacks

        yield from find_tracebacks(lines)
        yield from find_faults(TOOLS, lines)

    def second_look(self, argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
        """Return the command that tells the values of the code of a `python -c`."""
        from shared.languages.python.second_look import second_look

        return second_look(argv, stderr)


class PythonPlans:
    """Implement `Plans` for Python."""

    def has_names_to_declare(self, path: str) -> bool:
        """Return whether other modules import the names of this one."""
        return has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        """Return whether a module holds tests, or code that only tests use."""
        return is_test_file(path)

    def module_name(self, path: str) -> str:
        """Return the last part of the module's name."""
        return posixpath.basename(path).removesuffix(".py")

    def read_chain(self, chain: Chain) -> ChainCode:
        """Return what answers for the Python of `chain`."""
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
