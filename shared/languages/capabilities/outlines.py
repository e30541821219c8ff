"""Defines the capability that every language has: to show what its files offer."""

from __future__ import annotations

from typing import Protocol


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
