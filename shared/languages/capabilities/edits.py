"""Defines the capability to find definitions in a file, and to replace them by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.definitions import DefinitionEdit, EditRefused, NamedCode


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Hold a definition's qualified name (`Game.play`), and its lines, counted from 1."""

    name: str
    first: int
    last: int


class Edits(Protocol):
    """Find and replace the definitions of a file."""

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

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return a violation for each loss by a rewrite that `changes` do not name.

        `before` and `after` are the texts of the file at `path`.
        """
