"""Runs a failed `python -c` again under the observer. Its result judges nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Final

from shared.languages.python.reports.values import marker, observer, shown
from shared.shell_words import is_too_long

_PYTHON: Final = re.compile(r"python(?:3(?:\.\d+)?)?")
_BEFORE_PYTHON: Final = frozenset({"env", "nice", "timeout"})
_TAKES_A_VALUE: Final = frozenset({"-W", "-X", "--check-hash-based-pycs"})
# What another one imports comes before it.
_MODULES: Final = (shown, marker, observer)
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
    """Return the command that observes `python -c CODE`; `None` where `argv` is another command."""
    place = _place_of_code(argv)
    if place is None:
        return None
    program = _program()
    if is_too_long(program) or is_too_long(argv[place]):
        return None
    return (*argv[:place], program, *argv[place:])


def _place_of_code(argv: Sequence[str]) -> int | None:
    names = [PurePosixPath(each).name for each in argv]
    python = next((at for at, name in enumerate(names) if _PYTHON.fullmatch(name)), None)
    if python is None or (python and names[0] not in _BEFORE_PYTHON):
        return None
    at = python + 1
    while at < len(argv) - 1 and argv[at].startswith("-"):
        if argv[at] == "-c":
            return at + 1
        at += 2 if argv[at] in _TAKES_A_VALUE else 1
    return None


@cache
def _program() -> str:
    """Return the observer as one piece of code, with the modules that it needs."""
    folder = resources.files("shared.languages.python.reports.values")
    texts = [
        (
            each.__name__,
            folder.joinpath(f"{each.__name__.rpartition('.')[2]}.py").read_text("utf-8"),
        )
        for each in _MODULES
    ]
    return f"TEXTS = {texts!r}\n{_START}"
