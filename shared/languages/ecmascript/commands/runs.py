"""Defines what a command of this ecosystem runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Runner(StrEnum):
    """Name a test runner."""

    NODE = "node"
    VITEST = "vitest"
    JEST = "jest"
    MOCHA = "mocha"
    BUN = "bun"


@dataclass(frozen=True, slots=True)
class CodeRun:
    """Say that code in the command itself is run. `is_module` says that it is an ES module.

    `is_typed` says that the code may be TypeScript. `prints` says that its value is printed.
    """

    text: str
    is_module: bool = False
    is_typed: bool = False
    prints: bool = False


@dataclass(frozen=True, slots=True)
class FileRun:
    """Say that a file is run; `only_parses` says that its syntax alone is looked at."""

    path: str
    only_parses: bool = False


@dataclass(frozen=True, slots=True)
class TestRun:
    """Say that a test runner is started.

    `patterns` choose files: paths and globs for `node` and `mocha`, parts of paths for `vitest` and
    `bun`, regular expressions for `jest`. `filters` are regular expressions that choose tests by
    their titles. `passes_empty` says that a run without tests succeeds, and `is_exact` is false
    where an option may choose the tests in another way.
    """

    runner: Runner
    patterns: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    passes_empty: bool = False
    only_lists: bool = False
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """Say that a script of `package.json` is run by its name.

    `if_present` says that the command succeeds without the script, and `may_be_program` that its
    name may be that of a program, too.
    """

    name: str
    arguments: tuple[str, ...] = ()
    if_present: bool = False
    may_be_program: bool = False

    @property
    def may_lack(self) -> bool:
        """Return whether the command may work where there is no such script."""
        return self.if_present or self.may_be_program


@dataclass(frozen=True, slots=True)
class CompilerRun:
    """Say that `tsc` is run; `project` is the configuration that is named, or empty."""

    project: str = ""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """Say that another program is run; `shows_only` says that it prints a version or a help."""

    name: str
    shows_only: bool = False


Run = CodeRun | FileRun | TestRun | ScriptRun | CompilerRun | ToolRun


@dataclass(frozen=True, slots=True)
class CommandRuns:
    """Hold what one command runs, and the `packages` that have to be installed for it.

    `required` are the modules that are loaded first. `problem` says why the command cannot run.
    """

    runs: tuple[Run, ...] = ()
    packages: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    problem: str = ""
