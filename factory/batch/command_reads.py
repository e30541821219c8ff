"""Finds the files that an order's commands read although the order does not list them. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from shared.commands.commands import analyse_command
from shared.languages.capabilities.commands import Command
from shared.languages.registry import language_named
from shared.work_order.schemas import WorkOrder


def named_paths(order: WorkOrder) -> frozenset[str]:
    """Return the files and folders that an order's acceptance commands may read, by their text.

    Too many paths do no harm: a path that no earlier order writes means nothing.
    """
    return frozenset(
        path
        for text in order.acceptance_commands
        for path in _paths_of_command(analyse_command(text))
    )


def _paths_of_command(command: Command) -> Iterator[str]:
    for word in command.argv:  # the first may be a script of the repo
        # `tests/test_a.py::test_b` names a file to pytest.
        yield posixpath.normpath(word.partition("::")[0])
    language = language_named(command.language)
    if language is not None and language.commands is not None:
        yield from language.commands.read_paths(command)
