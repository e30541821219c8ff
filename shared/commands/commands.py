"""Says what an acceptance command would run, from the text of the command alone.

The module looks up, imports and executes nothing: a command is hostile until a sandbox holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.languages.python.code import PythonCode, read_code
from shared.shell_words import (
    MAX_ARGUMENT_BYTES,
    UnsplittableError,
    Words,
    is_too_long,
    split_words,
)

_PYTHON = re.compile(r"python(?:3(?:\.[0-9]+)?)?t?")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
SHELLS: Final = frozenset({"bash", "sh", "dash", "ksh", "zsh"})
_SHELL_LONG_OPTIONS_WITH_VALUE: Final = frozenset({"--rcfile", "--init-file"})
_PYTEST: Final = frozenset({"pytest", "py.test"})
# The options, of pytest and of common plugins, whose value is the next word. An option written as
# `--option=value` needs no entry.
_PYTEST_OPTION_WITH_VALUE = re.compile(
    "-[kmcpoWrn]|--(?:maxfail|tb|rootdir|ignore|ignore-glob|deselect|junitxml|junit-xml|basetemp"
    "|confcutdir|durations|durations-min|color|capture|log-level|log-file|import-mode|cov"
    "|cov-report|cov-config|dist|timeout|config-file|override-ini|pythonwarnings|verbosity"
    "|show-capture)"
)


@dataclass(frozen=True, slots=True)
class CodeRun:
    """Say that an interpreter runs the code after `-c`.

    `quoted` says whether the shell word with the code was quoted.
    """

    code: PythonCode
    flags: tuple[str, ...]
    quoted: bool


@dataclass(frozen=True, slots=True)
class ModuleRun:
    """Say that an interpreter runs the module after `-m`."""

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
    holds the variables that `env` sets.
    """

    text: str
    argv: tuple[str, ...] = ()
    problem: str | None = None
    operator: str | None = None
    program: str = ""
    run: Run = ProgramRun(())
    environment: tuple[tuple[str, str], ...] = ()


class _NothingToRun(Exception):
    """Say that a command's words cannot be executed; the message says why."""


def analyse_command(text: str) -> Command:
    """Return a description of what `text` would run.

    The function never raises, and takes time linear in the length of `text`.
    """
    try:
        words = split_words(text)
        return _analyse(text, words)
    except (UnsplittableError, _NothingToRun) as refusal:
        return Command(text, problem=str(refusal))


def _analyse(text: str, words: Words) -> Command:
    argv = words.texts
    if not argv:
        raise _NothingToRun("is empty")
    start, program = 0, _base_name(argv[0])
    environment: tuple[tuple[str, str], ...] = ()
    if program == "env":
        start, environment = _after_env(argv)
        program = _base_name(argv[start])
    if not argv[start]:
        raise _NothingToRun("names no program")
    run = _run(program, words, start)
    suspect = "\0" in text or is_too_long(text)
    if suspect and not (isinstance(run, CodeRun) and run.code.problem):
        _refuse_impossible_arguments(argv)
    return Command(text, argv, None, words.operator, program, run, environment)


def _refuse_impossible_arguments(argv: Sequence[str]) -> None:
    for word in argv:
        if "\0" in word:
            raise _NothingToRun("holds a NUL, which no argument can")
        if is_too_long(word):
            raise _NothingToRun(f"has an argument of over {MAX_ARGUMENT_BYTES} bytes")


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def _after_env(argv: Sequence[str]) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return the index of the program behind `env`, and the assignments before it.

    Where `env` has an option that this function does not follow (another folder, a string to
    split), `env` itself is the program.
    """
    assignments: list[tuple[str, str]] = []
    index = 1
    while index < len(argv):
        word = argv[index]
        if match := _ASSIGNMENT.fullmatch(word):
            assignments.append((match[1], match[2]))
            index += 1
        elif word in {"-i", "-", "--ignore-environment"} or word.startswith("--unset="):
            index += 1
        elif word in {"-u", "--unset"}:
            index += 2
        elif word.startswith("-"):
            return 0, ()
        else:
            return index, tuple(assignments)
    return 0, ()


def _run(program: str, words: Words, start: int) -> Run:
    argv = words.texts
    if _PYTHON.fullmatch(program):
        return _python_run(argv, words.quoted, start + 1)
    if program in SHELLS:
        return _shell_run(argv, start + 1)
    arguments = argv[start + 1 :]
    path = argv[start]
    if "/" in path and not path.startswith("/"):
        return ScriptRun(path, (), arguments)
    return ProgramRun(arguments)


def _python_run(argv: Sequence[str], quoted: Sequence[bool], index: int) -> Run:
    """Return what an interpreter runs, its options read as by its `getopt`.

    Options may be written as `-Ic CODE`, `-W arg` or `-mMODULE`.
    """
    flags: list[str] = []
    while index < len(argv) and argv[index][:1] == "-" and argv[index] != "-":
        word = argv[index]
        index += 1
        if word == "--":
            break
        if word.startswith("--"):
            flags.append(word)
            index += word == "--check-hash-based-pycs"
            continue
        letters, option, value = _short_options(word, "cmWX")
        flags += [f"-{letter}" for letter in letters]
        if not option:
            continue
        if not value:
            index += 1
            value = argv[index - 1] if index <= len(argv) else ""
        if option == "c":
            if not value or value.isspace():
                raise _NothingToRun("has `-c` without code")
            return CodeRun(read_code(value), tuple(flags), quoted[index - 1])
        if not value:
            raise _NothingToRun(f"has `-{option}` without its value")
        if option == "m":
            return ModuleRun(value, tuple(flags), tuple(argv[index:]))
        flags.append(f"-{option}{value}")
    if index < len(argv) and argv[index] != "-":
        return ScriptRun(argv[index], tuple(flags), tuple(argv[index + 1 :]))
    return ProgramRun(tuple(flags))


def _short_options(word: str, with_value: str) -> tuple[str, str, str]:
    """Return the plain letters of `-Icprint()`, the letter that takes a value, and the value."""
    for at in range(1, len(word)):
        if word[at] in with_value:
            return word[1:at], word[at], word[at + 1 :]
    return word[1:], "", ""


def _shell_run(argv: Sequence[str], index: int) -> Run:
    flags: list[str] = []
    runs_text = False
    while index < len(argv) and len(argv[index]) > 1 and argv[index][0] in "-+":
        word = argv[index]
        index += 1
        if word == "--":
            break
        flags.append(word)
        if word.startswith("--"):
            index += word in _SHELL_LONG_OPTIONS_WITH_VALUE
            continue
        runs_text |= word[0] == "-" and "c" in word
        if word[-1] in "oO" and index < len(argv):
            flags.append(argv[index])
            index += 1
    rest = tuple(argv[index:])
    if runs_text:
        if not rest or not rest[0].strip():
            raise _NothingToRun("has `-c` without code")
        return ShellCodeRun(rest[0])
    return ScriptRun(rest[0], tuple(flags), rest[1:]) if rest else ProgramRun(tuple(flags))


def pytest_paths(command: Command) -> tuple[str, ...]:
    """Return the files and folders that a pytest command names, each cut off before any `::`.

    The result is empty where the command does not run pytest, or names no file or folder.
    """
    match command.run:
        case ModuleRun(module="pytest", arguments=arguments):
            return tuple(_positional(arguments))
        case ProgramRun(arguments) if command.program in _PYTEST:
            return tuple(_positional(arguments))
        case _:
            return ()


def _positional(arguments: Sequence[str]) -> Iterator[str]:
    takes_value = False
    for word in arguments:
        if takes_value:
            takes_value = False
        elif word.startswith("-"):
            takes_value = _PYTEST_OPTION_WITH_VALUE.fullmatch(word) is not None
        else:
            yield word.split("::", 1)[0]
