"""Brings functions, methods, classes and types of JavaScript and TypeScript in by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.languages.declared.edits import Refused, indented
from shared.languages.declared.edits import edit_definitions as edit
from shared.languages.declared.model import Declarations, Declared
from shared.languages.definitions import DefinitionEdit, EditRefused, NamedCode, Splice
from shared.languages.ecmascript.definitions.source import read_source

_WORDS: Final = (
    r"(?:export|default|declare|abstract|async|static|public|private|protected|override|readonly|"
    r"function|class|interface|type|enum|const|let|var|get|set)"
)
_NAME: Final = re.compile(
    rf"(?:{_WORDS}\s+)*\*?\s*(?P<name>[\w$.#:]+)\s*(?:<[^()]*>)?\s*(?:\(.*)?", re.DOTALL
)
_EXPORT: Final = re.compile(r"export\s+(?:default\s+)?")
_PREAMBLE: Final = re.compile(r"(?:#![^\n]*\n)?(?:\s*['\"]use strict['\"];?[ \t]*\n)?")
_INSIDE: Final = "class Llmch { "  # on the first line, so that all lines keep their numbers
_INDENT: Final = "  "
_AT_THE_TOP: Final = re.compile(
    rf"^(?:{_WORDS}[ \t]+)*(?:function\b[ \t]*\*?|class|interface|type|enum)[ \t]+(?P<name>[\w$]+)"
    r"|^(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<value>[\w$]+)[^=\n]*=[ \t]*"
    r"(?:async\b[ \t]*)?(?:function\b|\([^)\n]*\)[^=\n]*=>|[\w$]+[ \t]*=>)",
    re.MULTILINE,
)
_METHOD: Final = re.compile(
    rf"^(?:\t|  |    )(?:{_WORDS}[ \t]+)*\*?[ \t]*(?!(?:if|for|while|switch|catch|with|function)\b)"
    r"(?P<name>#?[\w$]+)[ \t]*\([^'\"`=>\n]*\)[^'\"`;=>\n]*\{[ \t]*$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _EcmaWays:
    """Implement `Ways` for one edit of the file `text` at `path`; `owner` is the class, if any."""

    path: str
    text: str
    owner: str

    def read(self, text: str) -> Declarations:
        """Return the declarations of the file, or those of a block that may bring a definition.

        A block may be a method alone. A class around a method only says whose it is; a whole class
        comes with its methods.
        """
        if text == self.text:
            return read_source(self.path, text)
        read = read_source(self.path, text)
        if self.owner and read.fault is not None:
            read = _read_members(self.path, text) or read
        if not self.owner:
            return replace(read, items=tuple(each for each in read.items if not each.owner))
        return replace(read, items=tuple(each for each in read.items if each.name != self.owner))

    def plain_name(self, written: str) -> str:
        """Return `Game.play` for `Game#play`, `Game.prototype.play` and `Game::play`."""
        return plain_name(written)

    def adding(self, file: Declarations, item: Declared, code: str) -> Splice:
        """Return the splice that adds a method to its class, and anything else at the end."""
        if not item.owner:
            end = len(file.text.rstrip())
            return Splice(end, end, f"\n\n{code.strip()}" if end else code.strip())
        owners = [each for each in file.named(item.owner) if each.kind == "type" and each.body]
        if len(owners) != 1 or owners[0].body is None:
            raise Refused(f"the file has no class `{item.owner}`: give the class as a whole")
        start, end = owners[0].body
        inner = file.text[start + 1 : end - 1]
        margin = re.search(r"\n([ \t]*)\S", inner)
        outer = re.search(r"[ \t]*(?=[^\n]*\Z)", file.text[: owners[0].start].rpartition("\n")[2])
        indent = margin[1] if margin else f"{outer[0] if outer else ''}{_INDENT}"
        at = start + 1 + len(inner.rstrip())
        gap = "\n\n" if inner.strip() else "\n"
        ending = "" if "\n" in file.text[at : end - 1] else "\n"
        return Splice(at, at, f"{gap}{indented(code.strip(chr(10)), indent)}{ending}")

    def importing(self, file: Declarations, block: Declarations) -> Iterator[Splice]:
        """Yield a splice for each name that the block brings in and the file does not have."""
        has = {each.name for each in file.imports} | {each.name for each in file.items}
        has.discard("")
        effects = {each.source for each in file.imports}
        found = _PREAMBLE.match(file.text)
        top = found.end() if found else 0
        at = max((each.end for each in file.imports), default=top)
        for each in block.imports:
            if each.name in has or (not each.name and each.source in effects):
                continue
            has.add(each.name)
            text = f"\n{each.text}" if at > top else f"{each.text}\n"
            yield Splice(at, at, text, depth=1)


def edit_definitions(
    path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
) -> tuple[DefinitionEdit | EditRefused, ...]:
    """Return for each edit how it changes the file at `path`, or why it cannot.

    What the file exports stays exported, whether or not the code of the edit says so.
    """
    return tuple(_edit(path, text, each, changes) for each in edits)


def _edit(
    path: str, text: str, given: NamedCode, changes: Sequence[str]
) -> DefinitionEdit | EditRefused:
    try:
        owner = plain_name(given.name).rpartition(".")[0]
    except Refused as refused:
        return EditRefused(refused.reason)
    ways = _EcmaWays(path, text, owner)
    code = _exported_alike(ways.read(given.code), read_source(path, text))
    (made,) = edit(ways, path, text, [NamedCode(given.name, code)], changes)
    return made


def plain_name(written: str) -> str:
    """Return a name as declarations have it. Raises `Refused` for what is no name."""
    found = _NAME.fullmatch(written.strip().removesuffix(";"))
    name = found["name"] if found else ""
    name = name.replace("::", ".").replace(".prototype.", ".")
    name = re.sub(r"(?<=\w)#", ".", name)
    parts = name.split(".")
    if len(parts) > 2 or not all(re.fullmatch(r"#?[A-Za-z_$][\w$]*", each) for each in parts):
        raise Refused(f"{written[:80]!r} is not a name: write Class.method, function or Class")
    return name


def _exported_alike(block: Declarations, file: Declarations) -> str:
    """Return the code of a block, each definition exported in the way in which the file has it."""
    code = block.text
    for item in sorted(block.items, key=lambda each: each.start, reverse=True):
        old = file.named(item.name)
        if item.owner or len(old) != 1 or item.kind == "value":
            continue
        before, now = (_EXPORT.match(each.text) for each in (old[0], item))
        is_listed = before is None and old[0].is_public and not old[0].text.startswith("exports.")
        if before is not None and now is None:
            code = code[: item.start] + before[0] + code[item.start :]
        elif now is not None and is_listed:
            code = code[: item.start] + code[item.start + now.end() :]
    return code


def _read_members(path: str, text: str) -> Declarations | None:
    """Return the methods of a text that is the inner part of a class; `None` for any other."""
    read = read_source(path, f"{_INSIDE}{text}\n}}")
    if read.fault is not None:
        return None
    by = len(_INSIDE)
    items = tuple(
        replace(
            each,
            name=each.last_name,
            start=each.start - by,
            end=each.end - by,
            body=(each.body[0] - by, each.body[1] - by) if each.body else None,
        )
        for each in read.items
        if each.owner
    )
    return Declarations(text, items)


def defined_names(fragment: str) -> tuple[str, ...]:
    """Return the names of what begins in some lines of a file at its top, and of methods there."""
    top = (each["name"] or each["value"] for each in _AT_THE_TOP.finditer(fragment))
    return (*top, *(each["name"] for each in _METHOD.finditer(fragment)))
