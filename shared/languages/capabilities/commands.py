"""Defines what a command runs, as data, and the capability to read that from its words.

Nothing here looks up, imports or executes anything: a command is hostile until a sandbox holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Import:
    """Represent an absolute import, as the language writes it.

    In Python, `from a.b import c` has the module `a.b` and the names `("c",)`. `line` counts from
    1.
    """

    module: str
    names: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """Hold the reason why code cannot be compiled.

    `is_syntax` is true where the syntax is wrong. It is false where the code cannot be read for
    another reason, such as a NUL or nesting beyond a limit. `line` and `column` count from 1; both
    are 0 where the whole code is meant.
    """

    message: str
    is_syntax: bool
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """Hold a piece of code: its source, and either its problem or its imports.

    `imports` leaves out relative imports and those whose failure the code itself catches.
    """

    source: str
    problem: CodeProblem | None
    imports: tuple[Import, ...]


@dataclass(frozen=True, slots=True)
class CodeRun:
    """Say that an interpreter runs code that the command itself holds.

    `language` is the name of the code's language, and `option` the option before the code (`-c`).
    `quoted` says whether the shell word with the code was quoted.
    """

    language: str
    option: str
    code: Code
    flags: tuple[str, ...]
    quoted: bool


@dataclass(frozen=True, slots=True)
class ModuleRun:
    """Say that an interpreter of `language` runs a module by its name (`-m`)."""

    language: str
    module: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """Say that an interpreter or the system runs a file; `path` is as it was written.

    `language` is that of the interpreter, and empty for a shell and where the system runs the file.
    """

    path: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]
    language: str = ""


@dataclass(frozen=True, slots=True)
class ShellCodeRun:
    """Say that a shell runs the text after its own `-c`."""

    text: str


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """Say that the command runs any other program, such as one on PATH.

    `language` is that of the tool where a language knows the program, as Go knows `go`.
    """

    arguments: tuple[str, ...]
    language: str = ""


Run = CodeRun | ModuleRun | ScriptRun | ShellCodeRun | ProgramRun


@dataclass(frozen=True, slots=True)
class Command:
    """Describe an acceptance command.

    `problem` says why the command cannot be executed at all; the other fields are then empty.
    `operator` is the first shell operator outside quotes. `program` is the last part of the
    path of the executed program; where that is `env`, the program behind it counts. `environment`
    holds the variables that `env` sets.
    """

    text: str
    argv: tuple[str, ...] = ()
    problem: str | None = None
    operator: str | None = None
    program: str = ""
    run: Run = ProgramRun(())
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def language(self) -> str:
        """Return the name of the language whose tool runs; empty where no language knows it."""
        return "" if isinstance(self.run, ShellCodeRun) else self.run.language


class NothingToRun(Exception):
    """Say that a command's words cannot be executed; the message says why."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Hold the words behind a program, without the program itself.

    `quoted` says for each word whether any part of it was quoted or escaped.
    """

    words: tuple[str, ...]
    quoted: tuple[bool, ...]


class CommandReader(Protocol):
    """Read what the commands of a language's tools run, from their words alone."""

    def knows(self, program: str) -> bool:
        """Return whether `program`, a name without folder, is a tool of this language.

        This is asked of every command, so it must not import anything.
        """

    def is_always_there(self, program: str) -> bool:
        """Return whether every sandbox has the program, whatever the project holds."""

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return what the program would run. The time is linear in the length of the words.

        Raises `NothingToRun` where the words cannot be executed.
        """

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return the files and folders that have to be there, as the command names them.

        They are test files, for example. The file of a `ScriptRun` is known without asking.
        """
