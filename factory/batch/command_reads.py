"""Finds the files that an order's commands read although the order does not list them. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from shared.commands.commands import CodeRun, Command, ModuleRun, analyse_command
from shared.work_order.schemas import WorkOrder

_ROOTS = ("", "src/")


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
