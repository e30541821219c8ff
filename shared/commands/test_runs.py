"""Says whether a command is a test runner, from its text alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shared.commands.commands import analyse_command
from shared.languages.capabilities.commands import Command, ModuleRun, ProgramRun, ScriptRun

_RUNNERS: Final = frozenset(
    {"pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ava", "tape", "ctest"}
)
_TEST_MODULES: Final = frozenset({"pytest", "unittest", "nose2", "tox", "nox"})
_OTHER_MODULES: Final = frozenset({"compileall", "py_compile", "pip"})
# By program, the words of which one has it run tests.
_TEST_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "go": frozenset({"test"}),
    "cargo": frozenset({"test", "t", "nextest"}),
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
    "go": frozenset({"build", "vet", "fmt", "mod", "install"}),
    "cargo": frozenset({"build", "b", "check", "c", "clippy", "fmt"}),
    "dotnet": frozenset({"build", "format", "restore"}),
}
# What stands before a program that a package manager looks up.
_LAUNCHERS: Final = (
    ("npx",), ("yarn",), ("npm", "exec", "--"), ("npm", "exec"), ("pnpm", "exec"),
    ("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"),
)  # fmt: skip
# Options with which a test runner lists or builds tests and runs none.
_WITHOUT_A_RUN: Final = frozenset(
    {"--collect-only", "--co", "--no-run", "--list", "--listTests", "-list", "--help", "--version"}
)


def runs_tests(text: str) -> bool | None:
    """Return whether the command runs tests; `None` where its text does not say so.

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


def _of_program(words: Sequence[str]) -> bool | None:
    program, arguments = words[0] if words else "", words[1:]
    given = frozenset(arguments)
    if program in _RUNNERS or given & _TEST_WORDS.get(program, frozenset()):
        return not _WITHOUT_A_RUN & given
    return False if given & _OTHER_WORDS.get(program, frozenset()) else None


def _words(command: Command) -> Sequence[str]:
    """Return the program without its folder, and its arguments; what a launcher starts counts."""
    names = [word.rpartition("/")[2] for word in command.argv]
    if command.program not in names:
        return ()
    start = names.index(command.program)
    words = (command.program, *command.argv[start + 1 :])
    for launcher in _LAUNCHERS:
        if words[: len(launcher)] == launcher and words[len(launcher) :][:1]:
            launched = words[len(launcher) :]
            return launched if launched[0] in _RUNNERS else words
    return words
