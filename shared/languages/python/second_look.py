"""Has a command of Python run by the launcher, and a failed `python -c` again under an observer.

A report of another form than the observer writes is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.languages.language_tools import SecondLook
from shared.languages.python import assertion_marker, observer, shown_values
from shared.languages.python.observer import MARK
from shared.languages.python.python_code import is_test_file
from shared.languages.python.python_reports import (
    FailedTest,
    Operand,
    Traceback,
    read_tracebacks,
    stable_error,
    tell,
    tell_names,
)
from shared.processes.shell_words import is_too_long

_Text = Annotated[str, Field(max_length=1000)]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _ReportedOperand(_Report):
    code: _Text
    value: _Text
    is_call: bool
    is_literal: bool
    type_name: _Text


_Names = Annotated[
    tuple[Annotated[tuple[_Text, _Text], Field(strict=False)], ...],
    Field(strict=False, max_length=8),
]


class _ReportedTest(_Report):
    operator: _Text
    operands: Annotated[tuple[_ReportedOperand, ...], Field(strict=False, max_length=2)]
    difference: _Text
    names: _Names


class _ObservationReport(_Report):
    code: _Text
    tests: Annotated[tuple[_ReportedTest, ...], Field(strict=False, max_length=8)] = ()
    names: _Names = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """Hold what was seen of a failure: sentences on an assertion, or the code that raised.

    Without `sentences`, `code` was under way when an exception was raised, `with_names` after it.
    """

    code: str
    sentences: tuple[str, ...] = ()
    with_names: str = ""


def read_observation(stderr: str) -> Observation | None:
    _, mark, text = stderr.rpartition(MARK)
    if not mark:
        return None
    try:
        observed = _ObservationReport.model_validate(json.loads(text.partition("\n")[0]))
    except (ValueError, RecursionError, ValidationError):
        return None
    found = (_sentence(each) for each in observed.tests)
    return Observation(observed.code, tuple(filter(None, found)), _named(observed.names))


def _sentence(test: _ReportedTest) -> str:
    operands = (
        Operand(each.code, each.value, each.is_call, each.is_literal, each.type_name)
        for each in test.operands
    )
    sentence = tell(FailedTest(test.operator, tuple(operands), test.difference))
    shown = {each.code for each in test.operands}
    if not sentence:
        return ""
    return sentence + _named([each for each in test.names if each[0] not in shown])


def _named(names: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> str:
    return tell_names([Operand(code, value) for code, value in names])


_PYTHON: Final = re.compile(r"python(?:3(?:\.\d+)?)?")
_BEFORE_PYTHON: Final = frozenset({"env", "nice", "timeout"})
_TAKES_A_VALUE: Final = frozenset({"-W", "-X", "--check-hash-based-pycs"})
# A module comes after those that it imports.
_MODULES: Final = (shown_values, assertion_marker, observer)
_START: Final = """\
import sys, types
def load():
    for name, text in TEXTS:
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(text, name, "exec"), module.__dict__)
    for name, _ in TEXTS:
        del sys.modules[name]
    return module.main
load()()
"""


def observed_command(argv: Sequence[str]) -> tuple[str, ...] | None:
    """Return the command that observes `python -c CODE`; `None` if `argv` is another command."""
    place, program = _place_of_code(argv), _program()
    if place is None or is_too_long(program) or is_too_long(argv[place]):
        return None
    return (*argv[:place], program, *argv[place:])


def _after_interpreter(argv: Sequence[str]) -> int:
    """Return the index of the word after an interpreter; 0 if the command starts none."""
    names = [PurePosixPath(each).name for each in argv]
    at = next((at for at, name in enumerate(names) if _PYTHON.fullmatch(name)), -1)
    return 0 if at > 0 and names[0] not in _BEFORE_PYTHON else at + 1


def _place_of_code(argv: Sequence[str]) -> int | None:
    at = _after_interpreter(argv)
    while 0 < at < len(argv) - 1 and argv[at].startswith("-"):
        if argv[at] == "-c":
            return at + 1
        at += 2 if argv[at] in _TAKES_A_VALUE else 1
    return None


@cache
def _program() -> str:
    texts = [(each.__name__, _text_of(each.__name__.rpartition(".")[2])) for each in _MODULES]
    return f"TEXTS = {texts!r}\n{_START}"


def _text_of(module: str) -> str:
    return resources.files("shared.languages.python").joinpath(f"{module}.py").read_text("utf-8")


_LETTERS: Final = frozenset("bBdEIOPqRsSuv")
"""The options that an interpreter may have for both its own code and the launcher's."""


@dataclass(frozen=True, slots=True)
class LaunchedParts:
    """Hold the interpreter of a command, and the words for the launcher behind its own end."""

    interpreter: tuple[str, ...]
    words: tuple[str, ...]


def launched_command(argv: Sequence[str], end: int, tests: Collection[str]) -> tuple[str, ...]:
    """Return the command that exits with `end`, in place of 0, where it came to its own end.

    `tests` are files that are tests whatever their names. The result is empty if `argv` is not a
    command of an interpreter or of pytest, or has an option that is not known here.
    """
    parts = launched_parts(argv, tests)
    if parts is None:
        return ()
    return (*parts.interpreter, "-c", launcher_program(), str(end), *parts.words)


def launched_parts(argv: Sequence[str], tests: Collection[str]) -> LaunchedParts | None:
    """Return the parts of a launched command; `None` for one that cannot be launched."""
    at = _after_interpreter(argv)
    if argv[0] == "pytest":
        return LaunchedParts(("python",), ("strict", "-m", "pytest", *argv[1:]))
    if not at:
        return None
    while at < len(argv) - 1 and argv[at].startswith("-") and argv[at] not in ("-c", "-m"):
        takes_value = argv[at] in _TAKES_A_VALUE
        if not takes_value and not (argv[at][1:] and _LETTERS.issuperset(argv[at][1:])):
            return None
        at += 2 if takes_value else 1
    option = argv[at] if argv[at:] and argv[at] in ("-c", "-m") else ""
    rest = argv[at + bool(option) :]
    if not rest or not (option or rest[0].endswith(".py")):
        return None
    path = rest[0] if not option else f"{rest[0].replace('.', '/')}.py"
    is_test = option == "-c" or path in tests or is_test_file(path)
    how = "strict" if is_test else "lenient"
    return LaunchedParts((*argv[:at],), (how, option, rest[0], *rest[1:]))


@cache
def launcher_program(then: str = "") -> str:
    """Return the launcher as code that leaves no name behind in the main module.

    Where `then` names another file beside it, that one's `main` gets the launcher's.
    """
    runs = [_executed("launcher", "names")]
    if not then:
        return f"(lambda names: ({runs[0]}, names['main']()))({_names('launcher')})"
    runs.append(_executed(then, "more"))
    called = "more['main'](names['main'])"
    return (
        f"(lambda names, more: ({', '.join(runs)}, {called}))({_names('launcher')}, {_names(then)})"
    )


def _executed(module: str, names: str) -> str:
    return f"exec(compile({_text_of(module)!r}, '<{module}>', 'exec', dont_inherit=True), {names})"


def _names(module: str) -> str:
    return f"{{'__name__': {module!r}}}"


def second_look(argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
    """Return the command under the observer; `None` unless its own code ended in a traceback."""
    crash = _crash_of_code(stderr)
    again = observed_command(argv) if crash else None
    if crash is None or again is None:
        return None

    def facts_of(text: str) -> tuple[str, ...]:
        observed = read_observation(text)
        return tuple(_facts_of(observed, crash)) if observed else ()

    return SecondLook(again, facts_of)


def _crash_of_code(lines: Sequence[str]) -> Traceback | None:
    """Return the last traceback if it begins in the code of a `-c` and not in its syntax."""
    last = next(iter([*read_tracebacks(lines)][-1:]), None)
    if last is None or last.frames[0].path != "<string>" or last.error_type == "SyntaxError":
        return None
    return last


def _facts_of(observed: Observation, crash: Traceback) -> list[str]:
    """Return what was seen in the second run, if it ended like the first."""
    error_type, _, message = crash.error.partition(": ")
    if error_type == "AssertionError":
        said = f" ({message})" if message else ""
        return [each + said for each in observed.sentences]
    if observed.sentences:
        return []
    place = f" ({crash.place})" if crash.place else ""
    return [f"`{observed.code}` raised {stable_error(crash.error)}{place}{observed.with_names}"]
