"""Finds the statements of a specification, each with the sections that it stands in. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from planner.spec.blocks import Block, Kind, split_blocks
from planner.spec.demands import has_modal
from planner.spec.own_ids import bare_id, is_own_id, split_own_id

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]`*_]{0,3}\s+(?=[\"'(\[`*_]{0,3}[A-Z0-9])")
_CELL_END = re.compile(r"(?<!\\)\|")
_SECTION_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3}){1,3})\.?\s+(?=\S)")
_CHAPTER = re.compile(r"(?:\d{1,3}[.)]?|[IVXLC]{1,6}[.)]|[A-Z][.)])\s+(?=\S)")
_NOUN = re.compile(
    r"(?:requirement|user story|story|use case|feature|rule)\s+(?=\S)", re.IGNORECASE
)
_LEAD_END = re.compile(r":[*_]{0,3}$")
_SENTENCE_WORDS: Final = 5
_ID_COLUMNS: Final = 2  # an id stands in one of the first columns of a table


@dataclass(frozen=True, slots=True)
class Heading:
    """Hold a heading: its depth from 1, title, number such as `2.1`, and the id of its author."""

    line: int
    level: int
    title: str
    number: str = ""
    own_id: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """Hold a sentence, a list item or a row on one line, and its place.

    `text` has no id of the author's; that is `own_id`, "" without one, and then `whole` has both.
    `headings` are those of the sections it is in, the outermost first; `leads` the texts that lead
    up to the list it is in. `owner` is the line of the item or paragraph with an id of its author's
    that it belongs to, else 0. `table` is the first line of a row's table, else 0.
    """

    line: int
    text: str
    whole: str
    own_id: str = ""
    headings: tuple[Heading, ...] = ()
    leads: tuple[str, ...] = ()
    owner: int = 0
    is_item: bool = False
    is_heading: bool = False
    table: int = 0

    @property
    def section(self) -> str:
        """Return the number of the innermost section that has one, else ""."""
        return next((each.number for each in reversed(self.headings) if each.number), "")


@dataclass(frozen=True, slots=True)
class _Place:
    """Hold what a block stands in: headings, and what leads up to it or owns it, by indentation."""

    headings: tuple[Heading, ...] = ()
    leads: tuple[tuple[int, str], ...] = ()
    owners: tuple[tuple[int, int], ...] = ()


def find_statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a text, in their order.

    A line that only leads up to a list, as it ends in a colon, is no statement unless it demands
    something itself. A heading with such an id is one, with its title as text, and the last of its
    own `headings`.
    """
    place = _Place()
    for block in split_blocks(text):
        place = _entered(place, block)
        if block.kind is Kind.HEADING:
            heading = place.headings[-1]
            if heading.own_id:
                yield Statement(
                    *(block.line, heading.title, block.text, heading.own_id, place.headings),
                    is_heading=True,
                )
            continue
        indent = block.level if block.kind is Kind.ITEM else -1
        for line, said in _parts(block):
            found = _statement(block, line, said, place)
            is_lead = bool(_LEAD_END.search(said))
            if not is_lead or found.own_id or _is_more_than_lead(found):
                yield found
            if is_lead:
                place = replace(place, leads=(*place.leads, (indent, said)))
            if found.own_id and (is_lead or block.kind is Kind.ITEM):
                place = replace(place, owners=(*place.owners, (indent, line)))


def _is_more_than_lead(statement: Statement) -> bool:
    """Say whether a text that leads up to a list demands something by itself."""
    is_sentence = statement.is_item and len(statement.text.split()) >= _SENTENCE_WORDS
    return is_sentence or has_modal(statement.text)


def _entered(place: _Place, block: Block) -> _Place:
    """Return the place of a block, given that of the block before it."""
    match block.kind:
        case Kind.HEADING:
            heading = parse_heading(block)
            above = tuple(each for each in place.headings if each.level < heading.level)
            return _Place((*above, heading))
        case Kind.PARAGRAPH:
            inside = block.level if block.level > 1 else -1
            return _Place(place.headings, (), _outside_of(place.owners, inside))
        case Kind.ITEM:
            leads = tuple(each for each in place.leads if each[0] < block.level)
            return _Place(place.headings, leads, _outside_of(place.owners, block.level))
        case Kind.ROW:
            return place


def _outside_of(owners: tuple[tuple[int, int], ...], indent: int) -> tuple[tuple[int, int], ...]:
    return tuple(each for each in owners if each[0] < indent)


def parse_heading(block: Block) -> Heading:
    """Return the heading of a block, with its number and id apart from its title."""
    title = " ".join(block.text.split())
    numbered = _SECTION_NUMBER.match(title)
    chapter = numbered or _CHAPTER.match(title)
    bare = title[chapter.end() :] if chapter else title
    noun = _NOUN.match(bare)
    own_id, rest = split_own_id(bare[noun.end() :] if noun else bare)
    if not own_id and is_own_id(bare):
        own_id, rest = bare_id(bare), ""
    return Heading(
        block.line, block.level, rest if own_id else bare, numbered[1] if numbered else "", own_id
    )


def _statement(block: Block, line: int, said: str, place: _Place) -> Statement:
    is_row = block.kind is Kind.ROW
    if is_row:
        own_id, text, whole = _row(said)
    else:
        own_id, text = split_own_id(said)
        whole = said if own_id else text
    return Statement(
        *(line, text, whole, own_id, place.headings, tuple(lead for _, lead in place.leads)),
        owner=place.owners[-1][1] if place.owners else 0,
        is_item=block.kind is not Kind.PARAGRAPH,
        table=block.level if is_row else 0,
    )


def _row(said: str) -> tuple[str, str, str]:
    """Return the id, the text and the whole of a row; its cells are joined with semicolons."""
    cells = [cell.strip() for cell in _CELL_END.split(said.strip().strip("|"))]
    cells = [cell for cell in cells if any(map(str.isalnum, cell))]
    whole = "; ".join(cells)
    for column, cell in enumerate(cells[:_ID_COLUMNS]):
        if is_own_id(cell):
            return bare_id(cell), "; ".join(cells[:column] + cells[column + 1 :]), whole
    own_id, text = split_own_id(whole)
    return own_id, text, whole


def _parts(block: Block) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph, or the whole of another block, each with its line."""
    text = block.text.strip()
    if block.kind is not Kind.PARAGRAPH or split_own_id(" ".join(text.split()))[0]:
        yield block.line, " ".join(text.split())
        return
    line, start = block.line, 0
    for end in [*_SENTENCE_END.finditer(text), None]:
        part = text[start : end.start() if end else len(text)]
        yield line, " ".join(part.split())
        if end:
            line += text.count("\n", start, end.end())
            start = end.end()
