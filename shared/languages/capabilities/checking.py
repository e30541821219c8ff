"""Defines a type checker: files and targets go in, complaints come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.errors import CommandFailed


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Hold one complaint of a type checker.

    `line` and `end_line` count from 1. The columns count from 0, in UTF-8 bytes.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    message: str
    hint: str


class CheckerFailed(CommandFailed):
    """Raised when the type checker gave no answer. The code in question stays unjudged."""


class Checker(Protocol):
    """Check the types in source files."""

    def check(
        self, files: Mapping[str, str], targets: Sequence[str], roots: Sequence[str] = ("",)
    ) -> tuple[Diagnostic, ...]:
        """Return the complaints about `targets`, which are among `files`.

        `files` has texts by path. Imports are looked up in the folders `roots`. Raises
        `CheckerFailed` where the checker gives no answer.
        """


class CheckerProcess(Checker, Protocol):
    """Run a checker in a process that starts with the first question and stays warm."""

    @property
    def is_running(self) -> bool:
        """Return whether the process runs at the moment."""

    def abort(self) -> None:
        """End the process from another thread. A question that is being answered fails."""

    def close(self) -> None:
        """End the process and remove its files."""
