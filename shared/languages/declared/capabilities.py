"""Implements what of edits and notes follows from a file's declarations. Imports late."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.capabilities.edits import OutlineEntry

if TYPE_CHECKING:
    from shared.languages.declared.model import Declarations


@dataclass(frozen=True, slots=True)
class DeclaredEdits:
    """Implement those methods of `Edits` that are the same for all languages of declarations.

    `read` returns what a file declares, and `is_test_file` says whether a path is that of tests.
    """

    read: Callable[[str], Declarations]
    is_test_file: Callable[[str], bool]

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        """Return the functions, methods and types; none if the file does not parse."""
        from shared.languages.declared.edits import outline

        return outline(self.read(text))

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return a violation for each lost public name, and for the loss of half of the text."""
        from shared.languages.declared.rewrite import check_rewrite

        is_test = self.is_test_file(path)
        return check_rewrite(path, self.read(before), self.read(after), changes, is_test=is_test)


@dataclass(frozen=True, slots=True)
class DeclaredNotes:
    """Implement those methods of `Notes` that are the same for all languages of declarations."""

    read: Callable[[str], Declarations]

    def names_in(self, source: str) -> Collection[str] | None:
        """Return the names that a file declares; `None` where it does not parse."""
        from shared.languages.declared.notes import names_in

        return names_in(self.read(source))

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that quotes the line that does not parse."""
        from shared.languages.declared.notes import note_syntax

        return note_syntax(path, self.read(source))
