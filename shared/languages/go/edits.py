"""Brings functions, methods and types of Go into a file by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shared.languages.declared.edits import Refused
from shared.languages.declared.edits import edit_definitions as edit
from shared.languages.declared.model import Declarations, Declared
from shared.languages.definitions import DefinitionEdit, EditRefused, NamedCode, Splice
from shared.languages.go.source import read_go

_NAME: Final = re.compile(
    r"(?:func +|type +|var +|const +)?(?P<name>[^{]+?)\s*(?:\(.*)?", re.DOTALL
)
_RECEIVER: Final = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)[^)]*\)\s*\.?\s*(\w+)")
_DEFINITION: Final = re.compile(
    r"^(?:func[ \t]+(?:\([^)\n]*\)[ \t]*)?|type[ \t]+)(?P<name>\w+)", re.MULTILINE
)
_PACKAGE: Final = re.compile(r"^package[ \t]+\w+[^\n]*", re.MULTILINE)


class _GoWays:
    """Implement `Ways` for Go."""

    def read(self, text: str) -> Declarations:
        """Return the declarations of a file or of a block."""
        return read_go(text)

    def plain_name(self, written: str) -> str:
        """Return `Game.Play` for `(*Game).Play`, `func (g *Game) Play` and `Game.Play`."""
        text = written.strip().removeprefix("func ").strip()
        if found := _RECEIVER.match(text):
            return f"{found[1]}.{found[2]}"
        named = _NAME.fullmatch(text)
        name = named["name"].strip().replace("::", ".") if named else ""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts) or len(parts) > 2:
            raise Refused(f"{written[:80]!r} is not a name: write Type.Method, Function or Type")
        return name

    def adding(self, file: Declarations, item: Declared, code: str) -> Splice:
        """Return the splice that adds a definition at the end of the file."""
        end = len(file.text.rstrip())
        return Splice(end, end, f"\n\n{code.strip()}" if end else code.strip())

    def importing(self, file: Declarations, block: Declarations) -> Iterator[Splice]:
        """Yield a splice for each import that the file does not have."""
        has = {(each.name, each.source) for each in file.imports}
        package = _PACKAGE.search(file.text)
        at = max((each.end for each in file.imports), default=package.end() if package else 0)
        for each in block.imports:
            if (each.name, each.source) not in has:
                has.add((each.name, each.source))
                yield Splice(at, at, f"\nimport {each.text}", depth=1)


def edit_definitions(
    path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
) -> tuple[DefinitionEdit | EditRefused, ...]:
    """Return for each edit how it changes the file at `path`, or why it cannot."""
    return edit(_GoWays(), path, text, edits, changes)


def defined_names(fragment: str) -> tuple[str, ...]:
    """Return the names of the functions, methods and types that begin in some lines of a file."""
    return tuple(each["name"] for each in _DEFINITION.finditer(fragment))
