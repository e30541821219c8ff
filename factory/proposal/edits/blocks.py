"""Defines what a reply may hold: whole files, definitions, search texts; and why one is refused."""

from __future__ import annotations

from dataclasses import dataclass

from factory.orders.reply_format import Form


@dataclass(frozen=True, slots=True)
class FileBlock:
    """Hold the whole content of a file."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class DefinitionBlock:
    """Hold the code of a definition; `name` is qualified if the model qualified it."""

    path: str
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class SearchBlock:
    """Hold whole lines of a file, and the lines that take their place."""

    path: str
    search: str
    replace: str


Block = FileBlock | DefinitionBlock | SearchBlock


@dataclass(frozen=True, slots=True)
class BlockRefusal:
    """Say why the block with the index `index` of a reply cannot be applied.

    `nearest` are the lines of the file that come nearest to what the block meant; they begin with
    line `line`, which counts from 1. `matches` is how often a search text was found.
    """

    index: int
    block: Block
    reason: str
    nearest: str = ""
    line: int = 0
    matches: int | None = None


def form_of(block: Block) -> Form:
    """Return the form of a block."""
    match block:
        case FileBlock():
            return Form.WHOLE
        case DefinitionBlock():
            return Form.DEFINITION
        case SearchBlock():
            return Form.SEARCH


def render_target(block: Block) -> str:
    """Return on one line, and bounded, what a block is for."""
    match block:
        case FileBlock(path=path):
            return f"the file {path}"
        case DefinitionBlock(path=path, name=name):
            return f"the definition `{name[:80]}` of {path}"
        case SearchBlock(path=path, search=search):
            line = next((each.strip() for each in search.splitlines() if each.strip()), "")
            return f"the search text of {path} that begins with `{line[:80]}`"
