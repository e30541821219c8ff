"""What a model is measured on: a small repo, an order, and files that fulfil the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any


class Kind(StrEnum):
    """Represent what a task asks for."""

    FUNCTION = "function"
    """Write a new file with one function; its stub is in the notes of the order."""
    STUB = "stub"
    """Complete a function whose stub is in the file."""
    EDIT = "edit"
    """Change a few lines of a file of 60 to 300 lines."""


@dataclass(frozen=True, slots=True)
class Task:
    """Hold one task. `solution` are files that make the acceptance command pass.

    `stub` is the signature with its docstring where the task is a single function, else empty.
    """

    name: str
    kind: Kind
    files: Mapping[str, str]
    order: Mapping[str, Any]
    solution: Mapping[str, str]
    stub: str = ""

    @property
    def path(self) -> str:
        """Return the one file that the order allows."""
        (path,) = self.order["allowed_files"]
        return str(path)


def order_of(title: str, intent: str, path: str, command: str, **fields: Any) -> dict[str, Any]:
    """Return the document of an order that writes one file and is accepted by one command."""
    return {
        "id": "WO-01",
        "title": title,
        "intent": intent,
        "allowed_files": [path],
        "forbidden": [],
        "context_files": [path],
        "acceptance_commands": [command],
        **fields,
    }


def sample(tasks: Sequence[Task], limit: int | None) -> list[Task]:
    """Return `limit` of the tasks, all of them for `None`, in an order that is always the same.

    The order follows the hash of the name, so that the first forty are no easier than the rest,
    and a larger sample contains the smaller one.
    """
    return sorted(tasks, key=_place)[:limit]


def _place(task: Task) -> tuple[bytes, str]:
    """Return where the task stands: the kinds of one problem stand side by side."""
    problem = task.name.partition(" ")[0]
    return sha256(problem.encode()).digest(), task.name
