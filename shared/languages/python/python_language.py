"""Registers Python: what is known of it at once, and what loads when asked."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import (
    Advice,
    ContractViolation,
    Examples,
    Language,
    NewTest,
    Outliner,
)
from shared.languages.language_tools import (
    FaultReport,
    ManifestFiles,
    Prepared,
    SecondLook,
    Tools,
    Workshop,
    find_faults,
)
from shared.languages.property_tests import MOST_INPUTS, TOO_MANY, ChanceMark
from shared.languages.python import (
    asserting_code,
    code_notes,
    conformance,
    declared_requirements,
    definition_edits,
    judge_code,
    merge_stubs,
    python_code,
    python_commands,
    python_mutations,
    python_packages,
    python_reports,
    second_look,
    skeletons,
    type_checker,
)

if TYPE_CHECKING:
    from shared.languages.planned_code import Chain, ChainCode
    from shared.languages.read_commands import Arguments, Command, Run, Weakness
    from shared.work_order.work_order import Interface, WorkOrder

_NAME: Final = "Python"
_SUFFIXES: Final = (".py", ".pyi")
_INTERPRETER = re.compile(r"python(?:3(?:\.[0-9]+)?)?t?")
_DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_MANIFESTS: Final = frozenset({
    "pyproject.toml", "setup.cfg", "setup.py",
    "uv.lock", "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock",
})  # fmt: skip


class PythonConformance:
    """Implement `Conformance` for Python."""

    def reads(self, path: str) -> bool:
        return path.endswith(_SUFFIXES)

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        in_force = merge_stubs.contracts_in_force(orders)
        return tuple(each for each in in_force if each.path.endswith(_SUFFIXES))

    def open_checker(self) -> type_checker.TypeChecker:
        return type_checker.TypeChecker()

    def warm_up(self, tools: Tools) -> None:
        tools.checker(_NAME, self.open_checker).begin()

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        checker = tools.checker(_NAME, self.open_checker)
        return conformance.check_conformance(interfaces, sources, checker)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        return skeletons.build_skeleton(interfaces, sources)


class PythonCommands:
    """Implement `CommandReader` for Python's interpreters and pytest."""

    def knows(self, program: str) -> bool:
        return program in python_commands.PYTEST or _INTERPRETER.fullmatch(program) is not None

    def is_always_there(self, program: str) -> bool:
        """Return true: the factory brings Python and pytest into each sandbox."""
        return program != "py.test"

    def read_run(self, program: str, arguments: Arguments) -> Run:
        return python_commands.read_run(program, arguments)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        return python_commands.needed_paths(command)

    def script_paths(self, path: str) -> tuple[str, ...]:
        return path, f"{path}/__main__.py"

    def read_paths(self, command: Command) -> Iterator[str]:
        return python_commands.read_paths(command)

    def makes_files(self, command: Command) -> bool:
        """Return false: no tool of Python builds what another command runs by its path."""
        return False

    def module_paths(self, module: str) -> Iterator[str]:
        return python_commands.module_paths(module)

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether pytest loads the file by itself."""
        return posixpath.basename(path) in ("conftest.py", "__init__.py")

    def steers(self, path: str, text: str = "") -> str:
        return python_commands.steers(path, text)

    def weakness(self, command: Command) -> Weakness | None:
        return python_commands.weakness(command)

    def launched(self, argv: Sequence[str], end: int, tests: Collection[str]) -> tuple[str, ...]:
        return second_look.launched_command(argv, end, tests)


class PythonReports:
    """Implement `Reports` for pytest, tracebacks and linters of Python."""

    def find_failed_tests(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        return python_reports.find_test_failures(lines)

    def find_faults(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        yield from python_reports.find_tracebacks(lines)
        yield from find_faults(python_reports.TOOLS, lines)

    def second_look(self, argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
        return second_look.second_look(argv, stderr)


class PythonDependencies:
    """Implement `Dependencies` for distributions, which uv or pip install as wheels."""

    variables: Final = r"(PIP|UV)_\w+|REQUESTS_CA_BUNDLE"

    def is_manifest(self, path: str) -> bool:
        """Return whether the file declares distributions, locks them, or may be a list of them."""
        folder, _, name = path.rpartition("/")
        if name in _MANIFESTS:
            return True
        if not name.endswith(".txt"):
            return False
        listed = "requirements" in name or "constraints" in name
        return listed or folder.rpartition("/")[2] == "requirements"

    def prepare(self, files: ManifestFiles, workshop: Workshop) -> Prepared:
        return python_packages.prepare_python(files, workshop)


class PythonPlans:
    """Implement `Plans` for Python."""

    def has_names_to_declare(self, path: str) -> bool:
        return python_code.has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        return python_code.is_test_file(path)

    def asserting_text(self, path: str, text: str, product: Collection[str]) -> str:
        return asserting_code.asserting_text(path, text, product)

    def module_name(self, path: str) -> str:
        return posixpath.basename(path).removesuffix(".py")

    def read_chain(self, chain: Chain) -> ChainCode:
        return judge_code.PythonChain(chain)


_CHANCE: Final = (
    ChanceMark(
        r"\bhypothesis\b[\s\S]*^\s*@(?:hypothesis\.)?given\(",
        "draws other inputs on each run: its settings lack `derandomize=True`",
        r"\bderandomize\s*=\s*True|@(?:hypothesis\.)?seed\(|\bload_profile\(",
    ),
    ChanceMark(
        r"(?<![\w.])random\.(?!Random\b|seed\b|SystemRandom\b)[a-z]\w*\("
        r"|^\s*from random import (?!Random\b|seed\b)",
        "draws other inputs on each run: `random` has no seed",
        r"\bseed\(\s*['\"\w]",
    ),
    ChanceMark(
        r"\bRandom\(\s*\)|\bSystemRandom\(|\bos\.urandom\(|(?<![\w.])secrets\.\w+\(",
        "draws other inputs on each run: it has no seed",
    ),
    ChanceMark(rf"\bmax_examples\s*=\s*{MOST_INPUTS}", TOO_MANY),
)

PYTHON: Final = Language(
    Outliner(_NAME, (".py",), "python", "#", _DEFINITION, noun="module"),
    more_suffixes=(".pyi",),
    contracted=_SUFFIXES,
    commands=PythonCommands(),
    plans=PythonPlans(),
    rehearsals=python_commands,
    conformance=PythonConformance(),
    edits=definition_edits,
    notes=code_notes,
    own_imports=code_notes,
    packages=declared_requirements,
    dependencies=PythonDependencies(),
    failures=python_packages,
    mutations=python_mutations,
    reports=PythonReports(),
    advice=Advice(
        "shared.languages.python",
        ("Python", "Python3", "python", "python3", "pytest", "PyPI", ".py"),
    ),
    examples=Examples("shared.languages.python"),
    chance=_CHANCE,
    skips_none=python_commands.skips_none,
    new_test=NewTest(
        "tests/test_{stem}.py",
        "python -m pytest -q {path}",
        "a file {path} for pytest, which begins with `from {module} import {names}`",
        folder_stem="__init__",
        examples=code_notes,
    ),
    telling=(
        (
            "pyproject.toml",
            r"^(?:requires-python|addopts|testpaths|pythonpath|required_plugins)\b.*",
        ),
    ),
)
