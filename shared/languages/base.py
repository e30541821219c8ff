"""Defines what planner and factory ask of any language.

A language is one folder beside this file. It is at least an `Outliner`, with an entry of
`registry.OUTLINERS`; where its code can be judged too, it is a `Language`, with an entry of
`registry.LANGUAGES`. All paths are relative to the repository and use slashes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from shared.errors import CommandFailed
from shared.languages.definitions import DefinitionEdit, EditRefused, NamedCode
from shared.work_order.schemas import Interface

DOES_NOT_PARSE: Final = "does not parse"
"""The first words of the message about a file whose syntax the language's reader refuses."""


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """Represent a declared name that the code does not have as declared.

    `name` is qualified (`Game.play`), and empty where the whole file is meant. `message` tells the
    author of the code how it differs.
    """

    path: str
    name: str
    message: str


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


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Hold a definition's qualified name (`Game.play`), and its lines, counted from 1."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Represent a function that has nothing in it; `message` is a sentence that says so.

    `was_so` is true where the same was said of the file before. Where `is_certain` is false, the
    author may have meant it: such a function returns nothing, or always the same.
    """

    path: str
    name: str
    message: str
    was_so: bool
    is_certain: bool


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


class Outliner(Protocol):
    """Show what the files of one language offer to each other."""

    @property
    def name(self) -> str:
        """Return the name of the language as people write it."""

    @property
    def outlined(self) -> tuple[str, ...]:
        """Return the suffixes of the files that have an outline, dots included."""

    @property
    def fence(self) -> str:
        """Return the word that marks a code block of the language in Markdown."""

    @property
    def comment(self) -> str:
        """Return the characters that begin a comment of one line."""

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return a line for each name that a file offers to other files, without its code.

        The members of a type follow it, indented. The result is empty where the file offers
        nothing, and `None` where it cannot be read. Never raises.
        """


class Language(Outliner, Protocol):
    """Judge the files of one language without running them."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of the language's source files, dots included."""

    def open_checker(self) -> CheckerProcess:
        """Return a type checker for this language. Its first question starts its process."""

    def warm_up(self, checker: Checker) -> None:
        """Ask `checker` an empty question, so that its first real question is quick."""

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return a violation for each loss by a rewrite that `changes` do not name.

        `before` and `after` are the texts of the file at `path`.
        """

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], checker: Checker
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts `interfaces`, sorted by file and name.

        `sources` has texts by path. Raises `CheckerFailed` where the sources could not be judged.
        """

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return code by path that keeps `interfaces` and does nothing.

        `sources` has the texts of existing files by path.
        """

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        """Return the definitions of a file in their order; none if it does not parse."""

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        """Return, for each edit, the splices of `text` that make it, or why it cannot be made.

        `text` is that of the file at `path`. A definition is replaced where it is, and added where
        it is not. A name that is replaced by another one has to be among `changes`.
        """

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        """Return the last names of the definitions that begin in some lines of a file.

        The lines need not parse. Definitions within a function of these lines are left out.
        """

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return the functions of a file that have nothing in them.

        `before` and `after` are the texts of the file at `path`.
        """

    def names_in(self, source: str) -> Collection[str] | None:
        """Return the names that a source declares; `None` where they cannot all be known.

        Members of classes are qualified: `Game.play`.
        """

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that names the line that does not parse; empty where all does."""

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return a sentence for each error in `output` about a name that does not exist.

        `sources` has the texts of files by path, and `files` all paths of the repository.
        """
