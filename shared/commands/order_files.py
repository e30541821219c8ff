"""Names the files that an order touches or reads, by its text alone. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from shared.commands.commands import analyse_command
from shared.work_order.schemas import WorkOrder


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
