"""Finds the files that an order's commands and tests read without the order listing them. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache

from shared.commands.commands import CodeRun, Command, ModuleRun, analyse_command
from shared.languages.registry import OUTLINERS
from shared.work_order.schemas import AcceptanceFile, WorkOrder

_ROOTS = ("", "src/")
_WORD = re.compile(r"[\w./-]+")
_MAX_WORDS = 40  # of one line


def named_paths(order: WorkOrder) -> frozenset[str]:
    """Return the files and folders that an order's acceptance commands and tests may read.

    Their texts alone decide. Too many paths do no harm: a path that no earlier order writes means
    nothing.
    """
    commands = (
        path
        for text in order.acceptance_commands
        for path in _paths_of_command(analyse_command(text))
    )
    files = (path for each in order.acceptance_files for path in _paths_of_test(each))
    return frozenset((*commands, *files))


def _paths_of_test(file: AcceptanceFile) -> Iterator[str]:
    """Yield the paths that a test may name, from the root or from its folder, and its modules."""
    folder = posixpath.dirname(file.path)
    for line in file.content.splitlines():
        words = _WORD.findall(line)[:_MAX_WORDS]
        for word in words:
            for path in (word, posixpath.join(folder, word)):
                yield posixpath.normpath(path)
                yield from (f"{posixpath.normpath(path)}{suffix}" for suffix in _suffixes())
            yield from _paths_of_module(word)
        if words[:1] == ["from"]:
            for name in words[2:]:
                yield from _paths_of_module(f"{words[1]}.{name}")


@cache
def _suffixes() -> tuple[str, ...]:
    return tuple(suffix for each in OUTLINERS for suffix in each.outlined)


def _paths_of_command(command: Command) -> Iterator[str]:
    for word in command.argv:  # the first may be a script of the repo
        # `tests/test_a.py::test_b` names a file to pytest.
        yield posixpath.normpath(word.partition("::")[0])
    match command.run:
        case CodeRun(code):
            for each in code.imports:
                yield from _paths_of_module(each.module)
                for name in each.names:
                    yield from _paths_of_module(f"{each.module}.{name}")
        case ModuleRun(module):
            yield from _paths_of_module(module)
            yield from _paths_of_module(f"{module}.__main__")
        case _:
            return


def _paths_of_module(module: str) -> Iterator[str]:
    """Yield the paths that a module and the packages around it may have."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        path = "/".join(parts[:end])
        for root in _ROOTS:
            yield f"{root}{path}.py"
            yield f"{root}{path}/__init__.py"
