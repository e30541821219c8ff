"""Finds the files that an order's commands and tests read without the order listing them. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache

from shared.commands.commands import analyse_command
from shared.languages.capabilities.commands import Command
from shared.languages.registry import LANGUAGES, language_named
from shared.work_order.schemas import AcceptanceFile, WorkOrder

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
    return tuple(suffix for each in LANGUAGES for suffix in each.suffixes)


def _paths_of_command(command: Command) -> Iterator[str]:
    for word in command.argv:  # the first may be a script of the repo
        # `tests/test_a.py::test_b` names a file to pytest.
        yield posixpath.normpath(word.partition("::")[0])
    language = language_named(command.language)
    if language is not None and language.commands is not None:
        yield from language.commands.read_paths(command)


def _paths_of_module(module: str) -> Iterator[str]:
    """Yield the paths that a module of any language may have, by its name."""
    for each in LANGUAGES:
        if each.commands is not None:
            yield from each.commands.module_paths(module)
