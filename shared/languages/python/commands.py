"""Reads what the commands of Python's tools run, from their text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shared.languages.capabilities.commands import (
    Arguments,
    CodeRun,
    Command,
    ModuleRun,
    NothingToRun,
    ProgramRun,
    Run,
    ScriptRun,
)
from shared.languages.python.code import read_code
from shared.languages.python.files import ROOTS

PYTEST: Final = frozenset({"pytest", "py.test"})
# The options, of pytest and of common plugins, whose value is the next word. An option written as
# `--option=value` needs no entry.
_PYTEST_OPTION_WITH_VALUE = re.compile(
    "-[kmcpoWrn]|--(?:maxfail|tb|rootdir|ignore|ignore-glob|deselect|junitxml|junit-xml|basetemp"
    "|confcutdir|durations|durations-min|color|capture|log-level|log-file|import-mode|cov"
    "|cov-report|cov-config|dist|timeout|config-file|override-ini|pythonwarnings|verbosity"
    "|show-capture)"
)


def read_run(program: str, arguments: Arguments) -> Run:
    """Return what an interpreter or pytest runs; options are read as by the interpreter's `getopt`.

    Options may be written as `-Ic CODE`, `-W arg` or `-mMODULE`.
    """
    if program in PYTEST:
        return ProgramRun(arguments.words)
    argv, quoted, index = arguments.words, arguments.quoted, 0
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
                raise NothingToRun("has `-c` without code")
            return CodeRun(read_code(value), tuple(flags), quoted[index - 1])
        if not value:
            raise NothingToRun(f"has `-{option}` without its value")
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


def needed_paths(command: Command) -> tuple[str, ...]:
    """Return the files and folders that have to be there, as the command names them."""
    if "--pyargs" in command.argv:
        return ()  # some of the arguments are modules
    match command.run:
        case ModuleRun(module="py_compile", arguments=arguments):
            return tuple(each for each in arguments if each[:1] != "-")
        case _:
            return pytest_paths(command)


def pytest_paths(command: Command) -> tuple[str, ...]:
    """Return the files and folders that a pytest command names, each cut off before any `::`.

    The result is empty where the command does not run pytest, or names no file or folder.
    """
    match command.run:
        case ModuleRun(module="pytest", arguments=arguments):
            return tuple(_positional(arguments))
        case ProgramRun(arguments) if command.program in PYTEST:
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


def read_paths(command: Command) -> Iterator[str]:
    """Yield the paths that the modules which a command imports or runs may have."""
    match command.run:
        case CodeRun(code):
            for each in code.imports:
                yield from module_paths(each.module)
                for name in each.names:
                    yield from module_paths(f"{each.module}.{name}")
        case ModuleRun(module):
            yield from module_paths(module)
            yield from module_paths(f"{module}.__main__")
        case _:
            return


def module_paths(module: str) -> Iterator[str]:
    """Yield the paths that a module and the packages around it may have."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        path = "/".join(parts[:end])
        for root in ROOTS:
            yield f"{root}{path}.py"
            yield f"{root}{path}/__init__.py"
