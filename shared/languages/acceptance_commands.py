"""Reads acceptance commands as text, and never runs one.

The module looks up, imports and executes nothing: a command is hostile until a sandbox holds it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.go.go_commands import runs_go_tests
from shared.languages.read_commands import (
    Arguments,
    CodeRun,
    Command,
    CommandReader,
    ModuleRun,
    NothingToRun,
    ProgramRun,
    Run,
    ScriptRun,
    ShellCodeRun,
    program_argv,
)
from shared.languages.registry import language_of_program
from shared.languages.rust.rust_commands import read_cargo_command
from shared.processes.shell_words import (
    MAX_ARGUMENT_BYTES,
    ShellWords,
    UnsplittableError,
    is_too_long,
    split_words,
)

if TYPE_CHECKING:
    from shared.work_order.work_order import WorkOrder

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
SHELLS: Final = frozenset({"bash", "sh", "dash", "ksh", "zsh"})
_SHELL_LONG_OPTIONS_WITH_VALUE: Final = frozenset({"--rcfile", "--init-file"})


def analyse_command(text: str) -> Command:
    """Return a description of what `text` would run.

    The function never raises, and takes time linear in the length of `text`.
    """
    try:
        words = split_words(text)
        return _analyse(text, words)
    except (UnsplittableError, NothingToRun) as refusal:
        return Command(text, problem=str(refusal))


def _analyse(text: str, words: ShellWords) -> Command:
    argv = words.texts
    if not argv:
        raise NothingToRun("is empty")
    start, program = 0, _base_name(argv[0])
    environment: tuple[tuple[str, str], ...] = ()
    if program == "env":
        start, environment = _after_env(argv)
        program = _base_name(argv[start])
    if not argv[start]:
        raise NothingToRun("names no program")
    language = language_of_program(program)
    run = _run(program, words, start, language.commands if language is not None else None)
    suspect = "\0" in text or is_too_long(text)
    if suspect and not (isinstance(run, CodeRun) and run.code.problem):
        _refuse_impossible_arguments(argv)
    name = language.name if language is not None else ""
    return Command(text, argv, None, words.operator, program, run, environment, name)


def _refuse_impossible_arguments(argv: Sequence[str]) -> None:
    for word in argv:
        if "\0" in word:
            raise NothingToRun("holds a NUL, which no argument can")
        if is_too_long(word):
            raise NothingToRun(f"has an argument of over {MAX_ARGUMENT_BYTES} bytes")


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


def _run(program: str, words: ShellWords, start: int, language: CommandReader | None) -> Run:
    argv = words.texts
    arguments, path = argv[start + 1 :], argv[start]
    is_of_repo = "/" in path and not path.startswith("/")
    if language is not None:
        run = language.read_run(program, Arguments(arguments, words.quoted[start + 1 :]))
        if not (is_of_repo and isinstance(run, ProgramRun)):
            return run
    if program in SHELLS:
        return _shell_run(argv, start + 1)
    if is_of_repo:
        return ScriptRun(path, (), arguments)
    return ProgramRun(arguments)


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
            raise NothingToRun("has `-c` without code")
        return ShellCodeRun(rest[0])
    return ScriptRun(rest[0], tuple(flags), rest[1:]) if rest else ProgramRun(tuple(flags))


def order_files(order: WorkOrder) -> tuple[str, ...]:
    """Return the files that an order may write, removes, is shown, requires or runs.

    The words of its acceptance commands are among them, whether they name files or not.
    """
    return tuple(dict.fromkeys(_paths_of(order)))


def _paths_of(order: WorkOrder) -> Iterator[str]:
    yield from order.allowed_files
    yield from order.removed_files
    yield from order.context_files
    yield from (each.path for each in order.preconditions if each.kind == "file_exists")
    for text in order.acceptance_commands:
        for word in analyse_command(text).argv:
            # `tests/test_a.py::test_b` names a file to pytest.
            yield posixpath.normpath(word.partition("::")[0])


_RUNNERS: Final = frozenset(
    {"pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ava", "tape", "ctest"}
)
_TEST_MODULES: Final = frozenset({"pytest", "unittest", "nose2", "tox", "nox"})
_OTHER_MODULES: Final = frozenset({"compileall", "py_compile", "pip"})
# By program, the words of which one has it run tests.
_TEST_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "dotnet": frozenset({"test"}),
    "npm": frozenset({"test", "t", "tst"}),
    "pnpm": frozenset({"test", "t"}),
    "yarn": frozenset({"test"}),
    "node": frozenset({"--test"}),
    **dict.fromkeys(("mvn", "mvnw"), frozenset({"test", "verify"})),
    **dict.fromkeys(("gradle", "gradlew"), frozenset({"test", "check"})),
}
# By program, the words of which one has it run something else.
_OTHER_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "dotnet": frozenset({"build", "format", "restore"}),
}
_REPORTING: Final = (("go", "test"), ("cargo", "test"), ("cargo", "t"), ("node", "--test"))
# The words before a program that a package manager looks up.
_LAUNCHERS: Final = (
    ("npx",), ("yarn",), ("npm", "exec", "--"), ("npm", "exec"), ("pnpm", "exec"),
    ("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"),
)  # fmt: skip
# Options with which a test runner lists or builds tests and runs none.
_WITHOUT_A_RUN: Final = frozenset(
    {"--collect-only", "--co", "--no-run", "--list", "--listTests", "-list", "--help", "--version"}
)


_OTHER_VERBS_OF_CARGO: Final = frozenset({"build", "check", "clippy", "fmt", "help"})
_NO_RUN_OF_CARGO: Final = frozenset({"no-run", "list", "h", "help", "V", "version"})
_NO_RUN_OF_NEXTEST: Final = frozenset({"list", "archive", "show-config", "self", "help"})


def runs_tests(text: str) -> bool | None:
    """Return whether the command runs tests; `None` if its text does not say so.

    A script, a target of make, or a program that is not known may run tests or none.
    """
    command = analyse_command(text)
    match command.run:
        case ModuleRun(module=module, arguments=arguments) if module in _TEST_MODULES:
            return not _WITHOUT_A_RUN.intersection(arguments)
        case ModuleRun(module=module) if module in _OTHER_MODULES:
            return False
        case ProgramRun() | ScriptRun():
            return _of_program(_words(command))
        case _:
            return None


def reports_tests(text: str) -> bool:
    """Return whether the command is a test runner that says how many tests ran.

    It does so unless an option or a configuration of it says otherwise.
    """
    command = analyse_command(text)
    match command.run:
        case ModuleRun(module="pytest" | "unittest"):
            return runs_tests(text) is True
        case ProgramRun() | ScriptRun():
            words = _words(command)
            known = words[:1] in (("pytest",), ("py.test",)) or words[:2] in _REPORTING
            chosen = any(each.startswith("--test-reporter") for each in words)
            return known and not chosen and runs_tests(text) is True
        case _:
            return False


def _of_program(words: Sequence[str]) -> bool | None:
    program, arguments = words[0] if words else "", words[1:]
    if program == "go":
        return runs_go_tests(arguments)
    if program == "cargo":
        return _of_cargo(arguments)
    given = frozenset(arguments)
    if program in _RUNNERS or given & _TEST_WORDS.get(program, frozenset()):
        return not _WITHOUT_A_RUN & given
    return False if given & _OTHER_WORDS.get(program, frozenset()) else None


def _of_cargo(arguments: Sequence[str]) -> bool | None:
    command = read_cargo_command(arguments)
    if command.verb in ("test", "nextest"):
        verb = command.filters[0] if command.verb == "nextest" and command.filters else ""
        options = command.flags.keys() | command.runner.keys()
        return verb not in _NO_RUN_OF_NEXTEST and not _NO_RUN_OF_CARGO & options
    return False if command.verb in _OTHER_VERBS_OF_CARGO else None


def _words(command: Command) -> Sequence[str]:
    """Return the program without its folder, and its arguments; what a launcher starts counts."""
    argv = program_argv(command)
    words = (command.program, *argv[1:]) if argv else ()
    for launcher in _LAUNCHERS:
        if words[: len(launcher)] == launcher and words[len(launcher) :][:1]:
            launched = words[len(launcher) :]
            return launched if launched[0] in _RUNNERS else words
    return words
