"""Defines the capability to point out in code what a person would point out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


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


class Notes(Protocol):
    """Look at code, and at what a failed command printed."""

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
