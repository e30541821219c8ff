"""Brings functions, methods and types of Rust into a file by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shared.languages.declared.edits import Refused, indented
from shared.languages.declared.edits import edit_definitions as edit
from shared.languages.declared.model import Declarations, Declared
from shared.languages.definitions import DefinitionEdit, EditRefused, NamedCode, Splice
from shared.languages.rust.source import read_rust

_WORDS: Final = r"(?:pub(?:\([^)]*\))?|async|unsafe|const|fn|struct|enum|trait|type|impl|mod)"
_NAME: Final = re.compile(rf"(?:{_WORDS}\s+)*(?P<name>[\w:.]+)(?:<[^()]*>)?\s*(?:\(.*)?", re.DOTALL)
_DEFINITION: Final = re.compile(
    rf"^[ \t]*(?:{_WORDS}[ \t]+)*(?:fn|struct|enum|trait|union|type)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)
_PREAMBLE: Final = re.compile(r"(?:[ \t]*(?://!|#!\[)[^\n]*\n|[ \t]*\n)*")
_INDENT: Final = "    "


class _RustWays:
    """Implement `Ways` for Rust."""

    def read(self, text: str) -> Declarations:
        """Return the declarations of a file or of a block."""
        return read_rust(text)

    def plain_name(self, written: str) -> str:
        """Return `Game.play` for `Game::play`, `fn play` of a block and `Game.play`."""
        found = _NAME.fullmatch(written.strip())
        name = found["name"].replace("::", ".").strip(".") if found else ""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            raise Refused(f"{written[:80]!r} is not a name: write Type::method, function or Type")
        return ".".join(part for part in parts[-2:])

    def adding(self, file: Declarations, item: Declared, code: str) -> Splice:
        """Return the splice that adds a method to its block, and anything else at the end."""
        if item.owner:
            beside = [e for e in file.items if e.owner == item.owner and " for " not in e.around]
            if item.around:
                beside = [e for e in beside if e.around == item.around] or beside
            method = indented(code.strip("\n"), _INDENT)
            if beside:
                end = beside[-1].end
                return Splice(end, end, f"\n\n{method}")
            head = item.around or f"impl {item.owner}"
            return self._at_end(file, f"{head} {{\n{method}\n}}")
        return self._at_end(file, code.strip())

    def _at_end(self, file: Declarations, code: str) -> Splice:
        """Return the splice that adds code at the end, before the tests that end the file."""
        last = file.items[-1] if file.items else None
        if last is not None and last.kind == "module" and "cfg(test)" in last.text[:40]:
            return Splice(last.start, last.start, f"{code}\n\n")
        end = len(file.text.rstrip())
        return Splice(end, end, f"\n\n{code}" if end else code)

    def importing(self, file: Declarations, block: Declarations) -> Iterator[Splice]:
        """Yield a splice for each `use` whose names the file does not all have."""
        has = {(each.name, each.source) for each in file.imports}
        first = min((each.start for each in file.imports), default=None)
        found = _PREAMBLE.match(file.text)
        at = first if first is not None else (found.end() if found else 0)
        for text in dict.fromkeys(each.text for each in block.imports):
            named = {(each.name, each.source) for each in block.imports if each.text == text}
            if not named <= has:
                yield Splice(at, at, f"{text}\n", depth=1)


def edit_definitions(
    path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
) -> tuple[DefinitionEdit | EditRefused, ...]:
    """Return for each edit how it changes the file at `path`, or why it cannot."""
    return edit(_RustWays(), path, text, edits, changes)


def defined_names(fragment: str) -> tuple[str, ...]:
    """Return the names of the functions and types that begin in some lines of a file."""
    return tuple(each["name"] for each in _DEFINITION.finditer(fragment))
