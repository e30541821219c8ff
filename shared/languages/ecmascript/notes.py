"""Points out in JavaScript and TypeScript what does not parse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from shared.languages.capabilities.notes import Unwritten


class EcmaNotes:
    """Implement `Notes`, as far as syntax goes."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return nothing: an empty function may be meant."""
        return ()

    def names_in(self, source: str) -> Collection[str] | None:
        """Return `None`: a script may add names while it runs."""
        return None

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that quotes what is not expected, with its line and column."""
        from shared.languages.ecmascript.syntax import find_fault, tree_of

        root = tree_of(path, source)
        fault = find_fault(root) if root is not None else None
        return f"{path} does not parse: {fault}." if fault is not None else ""

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return nothing: the errors of Node and of compilers say it themselves."""
        return ()
