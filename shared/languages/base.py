"""What planner and factory ask of a language, whichever it is.

A language is one folder beside this file and one entry of `registry.LANGUAGES`. Paths are those
of the repository, with slashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from shared.errors import CommandFailed
from shared.work_order.schemas import Interface

DOES_NOT_PARSE: Final = "does not parse"
"""The first words of the message about a file whose syntax the language's reader refuses."""


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """A declared name that the code does not have as declared.

    `name` is qualified (`Game.play`), and empty where the file as a whole is meant. `message` says
    how the code differs, fit for whoever wrote the code.
    """

    path: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One complaint of a type checker. `line` counts from 1, columns from 0 in UTF-8 bytes."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    message: str
    hint: str


class CheckerFailed(CommandFailed):
    """The type checker gave no answer: what it was asked about stays unjudged."""


class Checker(Protocol):
    """Answers questions about types."""

    def check(
        self, files: Mapping[str, str], targets: Sequence[str], roots: Sequence[str] = ("",)
    ) -> tuple[Diagnostic, ...]:
        """Return what is wrong in `targets`, some of `files`; imports start from `roots`.

        Raises `CheckerFailed` where there is no answer.
        """


class CheckerProcess(Checker, Protocol):
    """A checker in a process that starts with the first question and stays warm."""

    @property
    def is_running(self) -> bool:
        """Whether the process runs at the moment."""

    def abort(self) -> None:
        """End the process from another thread; the question under way fails."""

    def close(self) -> None:
        """End the process and remove its files."""


class Language(Protocol):
    """A language whose files are judged without running them."""

    @property
    def name(self) -> str:
        """The name as people write it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of its source files, dots included."""

    def open_checker(self) -> CheckerProcess:
        """Return a type checker for this language. It starts nothing before its first question."""

    def warm_up(self, checker: Checker) -> None:
        """Ask `checker` nothing, so that its first real question is quick."""

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return what a file loses by being rewritten that `changes` do not name."""

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], checker: Checker
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts `interfaces`, sorted by file and name.

        Raises `CheckerFailed` where that could not be judged.
        """

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return, by path, code that keeps `interfaces` and does nothing."""
