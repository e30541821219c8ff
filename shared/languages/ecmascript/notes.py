"""Points out in JavaScript and TypeScript what does not parse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from shared.languages.capabilities.notes import Unwritten

_MAX_SHOWN: Final = 120  # characters of the line


class EcmaNotes:
    """Implement `Notes`, as far as syntax goes."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return nothing: an empty function may be meant."""
        return ()

    def names_in(self, source: str) -> Collection[str] | None:
        """Return `None`: a script may add names while it runs."""
        return None

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that quotes the line that does not parse, and says why."""
        from shared.languages.ecmascript.syntax import find_fault, tree_of
        from shared.languages.fault_words import file_does_not_parse

        root = tree_of(path, source)
        fault = find_fault(root) if root is not None else None
        if fault is None:
            return ""
        shown = source.split("\n")[fault.line - 1].strip()[:_MAX_SHOWN]
        return file_does_not_parse(path, fault.line, shown, fault.message)

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return nothing: the errors of Node and of compilers say it themselves."""
        return ()
