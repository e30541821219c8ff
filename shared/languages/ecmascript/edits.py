"""Puts edits of definitions by their names behind the protocol of languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.capabilities.edits import OutlineEntry
from shared.languages.definitions import DefinitionEdit, EditRefused, NamedCode


@dataclass(frozen=True, slots=True)
class EcmaEdits:
    """Implement `Edits` for files of one language.

    A text whose path is not known is read as that of a file with each of `suffixes`, in turn.
    """

    suffixes: tuple[str, ...]

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        """Return the functions, methods, classes and types; none if the file does not parse."""
        from shared.languages.declared.edits import outline
        from shared.languages.ecmascript.definitions.source import read_source

        found = (outline(read_source(f"file{each}", text)) for each in self.suffixes)
        return next((each for each in found if each), ())

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        """Return the splices by which definitions get their new code, or why not."""
        from shared.languages.ecmascript.definitions.by_name import edit_definitions

        return edit_definitions(path, text, edits, changes)

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        """Return the names of the functions, methods, classes and types that begin there."""
        from shared.languages.ecmascript.definitions.by_name import defined_names

        return defined_names(fragment)

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return a violation for each lost export, and for the loss of half of the text."""
        from shared.languages.declared.rewrite import check_rewrite
        from shared.languages.ecmascript.definitions.source import read_source
        from shared.languages.ecmascript.files import is_test_file

        now = read_source(path, after)
        # A name that is still there and no longer exported is lost for other files.
        exported = replace(now, items=tuple(each for each in now.items if each.is_public))
        is_test = is_test_file(path)
        return check_rewrite(path, read_source(path, before), exported, changes, is_test=is_test)
