"""Defines the capability to read how a language's tools report what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FaultReport:
    """Hold the lines of an output that tell one failure, and a sentence that says it.

    `lines` are numbers from 0. `fact` is empty where the lines say nothing that can be acted on.
    """

    lines: range
    fact: str = ""


def at_place(path: str, line: str | int, source: str = "") -> str:
    """Return the words for a line of a file, with its text where it is known."""
    shown = f": `{source.strip()}`" if source.strip() else ""
    return f"{path.removeprefix('./')}, line {line}{shown}"


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Hold a command that shows more of a failure than its output did.

    It runs in the sandbox, and its result judges nothing. `facts_of` returns what the standard
    error of that command tells, in sentences; nothing where it tells no more.
    """

    argv: tuple[str, ...]
    facts_of: Callable[[str], tuple[str, ...]]


class Reports(Protocol):
    """Read the output of commands that failed. Nothing in it is trusted, and no method raises."""

    def find_failed_tests(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield what a test runner reports that tells all that is worth telling of an output."""

    def find_faults(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield what compilers, interpreters and other test runners report; a bounded number."""

    def second_look(self, argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
        """Return a command to run after `argv` failed; `None` where none would show more.

        `stderr` are the lines of its standard error.
        """
