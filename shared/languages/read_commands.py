"""Defines what a command runs, as data, and the capability to read that from its words.

Nothing here looks up, imports or executes anything: a command is hostile until a sandbox holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol


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

    `quoted` says whether the shell word with the code was quoted, and `option` is the option before
    the code.
    """

    code: Code
    flags: tuple[str, ...]
    quoted: bool
    option: str = "-c"


@dataclass(frozen=True, slots=True)
class ModuleRun:
    """Say that an interpreter runs a module by its name (`-m`)."""

    module: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """Say that an interpreter or the system runs a file; `path` is as it was written."""

    path: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShellCodeRun:
    """Say that a shell runs the text after its own `-c`."""

    text: str


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """Say that the command runs any other program, such as one on PATH."""

    arguments: tuple[str, ...]


Run = CodeRun | ModuleRun | ScriptRun | ShellCodeRun | ProgramRun


@dataclass(frozen=True, slots=True)
class Command:
    """Describe an acceptance command.

    `problem` says why the command cannot be executed at all; the other fields are then empty.
    `operator` is the first shell operator outside quotes. `program` is the last part of the
    path of the executed program; where that is `env`, the program behind it counts. `environment`
    holds the variables that `env` sets. `language` is the name of the language that knows the
    program, and empty if none does.
    """

    text: str
    argv: tuple[str, ...] = ()
    problem: str | None = None
    operator: str | None = None
    program: str = ""
    run: Run = ProgramRun(())
    environment: tuple[tuple[str, str], ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class Weakness:
    """Represent why a command proves little: the code of a rule, and the text of its message."""

    code: Literal["W230", "W231", "W232", "W233"]
    message: str


class NothingToRun(Exception):
    """Say that a command's words cannot be executed; the message says why."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Hold the words behind a program, without the program itself.

    `quoted` says for each word whether any part of it was quoted or escaped.
    """

    words: tuple[str, ...]
    quoted: tuple[bool, ...]


def program_words(command: Command) -> tuple[str, ...] | None:
    """Return the arguments of a program; `None` if a command runs something else or nothing."""
    if command.problem or command.operator or not isinstance(command.run, ProgramRun):
        return None
    return command.run.arguments


def program_argv(command: Command) -> tuple[str, ...]:
    """Return the words of a command from its program on; none where it is not among them."""
    names = [each.rpartition("/")[2] for each in command.argv]
    return command.argv[names.index(command.program) :] if command.program in names else ()


def split_flags(words: Sequence[str], with_value: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each flag without its hyphens, and its value; each other word as the value of "".

    The flags of `with_value` take the next word as their value.
    """
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            yield "", word
            continue
        name, equals, value = word.lstrip("-").partition("=")
        yield name or "-", next(rest, "") if not equals and name in with_value else value


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

        Raises `NothingToRun` if the words cannot be executed.
        """

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return the files and folders that have to be there, as the command names them.

        They are test files, for example. The file of a `ScriptRun` is known without asking.
        """

    def script_paths(self, path: str) -> tuple[str, ...]:
        """Return the files of which one has to be there where the script `path` is run."""

    def read_paths(self, command: Command) -> Iterator[str]:
        """Yield the files that the code of a command may read, by its text alone.

        Too many paths do no harm. The words of the command are known without asking.
        """

    def makes_files(self, command: Command) -> bool:
        """Return whether a command may make files that no listing shows, as a build does.

        A run of tests does not count, whatever the tests write.
        """

    def module_paths(self, module: str) -> Iterator[str]:
        """Yield the paths that a module may have, by the name under which code imports it."""

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether a test runner loads the file at `path` for the tests in its folder."""

    def steers(self, path: str, text: str = "") -> str:
        """Return how the file at `path` can decide how tests end that do not name it, else "".

        The result completes a sentence about the file. The project's manifests are left out,
        because orders change them for other reasons.
        """

    def weakness(self, command: Command) -> Weakness | None:
        """Return why a command can hardly fail; `None` if its text shows no reason.

        The time is linear in the length of the text.
        """

    def launched(self, argv: Sequence[str], end: int, tests: Collection[str]) -> tuple[str, ...]:
        """Return the command that exits with `end`, in place of 0, if it came to its own end.

        `tests` are files that are tests whatever their names. The result is empty if nothing can
        show the end of `argv`.
        """


class BuildToolCommands:
    """Implement what is the same in `CommandReader` for build tools, which no sandbox surely has.

    Their commands hold no code, and name no module that an interpreter would look up.
    """

    programs: ClassVar[Collection[str]]

    def knows(self, program: str) -> bool:
        return program in self.programs

    def is_always_there(self, program: str) -> bool:
        return False

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return the arguments: what they mean is read when it is asked for."""
        return ProgramRun(arguments.words)

    def script_paths(self, path: str) -> tuple[str, ...]:
        return (path,)

    def read_paths(self, command: Command) -> Iterator[str]:
        return iter(())

    def module_paths(self, module: str) -> Iterator[str]:
        return iter(())

    def launched(self, argv: Sequence[str], end: int, tests: Collection[str]) -> tuple[str, ...]:
        """Return nothing: the sandbox watches what these tools start."""
        return ()
