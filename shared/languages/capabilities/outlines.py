"""Defines the capability that every language has: to show what its files offer."""

from __future__ import annotations

import re
from typing import Final, Protocol

# Bounded, or a long line of such words would be scanned again from each of them.
DEFINITION: Final = re.compile(
    r"\b(?:function|class|interface|enum|struct|trait|type|const|fn|func)\b"
    r"[ \t*]{1,10}(?:\([^()\n]{0,80}\)[ \t]{0,4})?(\w{1,80})"
)
"""Matches a definition in most languages whose declarations begin with a word."""


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

    @property
    def file_noun(self) -> str:
        """Return what a file of the language is called, in the singular."""

    @property
    def definition(self) -> re.Pattern[str]:
        """Return a pattern whose first group is the name in a definition, wherever it stands."""

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return a line for each name that a file offers to other files, without its code.

        The members of a type follow it, indented. The result is empty where the file offers
        nothing, and `None` where it cannot be read. Never raises.
        """
