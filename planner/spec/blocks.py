"""Splits the text of a specification into headings, items of lists, paragraphs and rows. Pure.

The text may be Markdown or plain. Code blocks, comments, front matter, rules and the heads of
tables are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from planner.spec.own_ids import split_own_id

_BOLD_LEVEL: Final = 7  # a line in bold type heads what follows, below each real heading
_LONGEST: Final = 2000  # characters; a longer line is text, and no heading, rule, label or row

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$")
_BOLD_LINE = re.compile(r" {0,3}(\*\*|__)(?=\S)([^*_:.!?][^*:.!?]{0,80}[^*:.!?\s])\1\s*$")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|(-{2,}))\s*$")
_RULE = re.compile(r" {0,3}([-=*_])(\s*\1)*\s*$")
_BULLET = re.compile(r"(\s*)(?:[-*+•]|\d{1,9}[.)])\s+(?=\S)")
_LABELLED = re.compile(r" {0,3}(?:\*\*[^*\n]{1,60}\*\*\s*:|\*\*[^*\n]{1,60}:\s*\*\*)")
_DELIMITERS = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_UNFINISHED = re.compile(r"(?:,|\b(?:and|as|by|for|from|in|of|or|per|see|than|the|to|with))$")
_KEY = re.compile(r"(?:[\w.-]+\s*:|\s|#|-\s)|$")


class Kind(StrEnum):
    """Say what a block is."""

    HEADING = "heading"
    ITEM = "item"
    PARAGRAPH = "paragraph"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Block:
    """Hold lines that belong together, without the marks that say what they are.

    `line` is the first line, from 1. `level` is the depth of a heading, the indentation of an item
    or paragraph in columns, and for a row the line on which its table begins.
    """

    kind: Kind
    line: int
    text: str
    level: int = 0


def split_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text, in their order."""
    lines = _without_comments(text).splitlines()
    held: list[str] = []
    first = Block(Kind.PARAGRAPH, 0, "")
    table = 0
    for number, line in _outside_code(lines):
        if table and "|" in line and len(line) <= _LONGEST:
            if not _DELIMITERS.match(line):
                yield Block(Kind.ROW, number, line.strip(), table)
            continue
        table = _table_at(lines, number)
        begun = None if table else _begun(number, line, held)
        if held and _is_underlined(line, held, first):
            yield Block(Kind.HEADING, first.line, held[0].strip(), 1 if "=" in line else 2)
            held = []
            continue
        if held and (begun or table or _is_apart(line)):
            yield Block(first.kind, first.line, "\n".join(held), first.level)
            held = []
        if begun and begun.kind is Kind.HEADING:
            yield begun
        elif begun:
            first, held = begun, [begun.text]
        elif held and not table:
            held.append(line)


def _without_comments(text: str) -> str:
    """Return the text with comments of HTML replaced by their line breaks."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        is_code = text[start - 1 : start] == "`"
        parts.append(text[at : end + 3] if is_code else text[at:start])
        parts.append("" if is_code else "\n" * text.count("\n", start, end))
        at = end + 3
    return "".join([*parts, text[at:]])


def _outside_code(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; lines of code and front matter are blank."""
    start = _after_front_matter(lines)
    fence = ""
    for number, line in enumerate([*lines, ""], 1):
        opened = _FENCE.match(line)
        is_code = bool(fence or opened)
        if opened and not fence:
            fence = opened[1]
        elif opened and opened[1].startswith(fence):
            fence = ""
        yield number, "" if is_code or number <= start else line


def _after_front_matter(lines: Sequence[str]) -> int:
    """Return the number of the last line of YAML front matter; 0 where there is none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            return number if number > 2 else 0
        if not _KEY.match(line):
            return 0
    return 0


def _table_at(lines: Sequence[str], number: int) -> int:
    """Return the number of a line that is the head of a table, else 0."""
    if number >= len(lines) or "|" not in lines[number - 1] or "|" not in lines[number]:
        return 0
    if len(lines[number]) > _LONGEST:
        return 0
    return number if _DELIMITERS.match(lines[number]) else 0


def _begun(number: int, line: str, held: Sequence[str]) -> Block | None:
    """Return the block that a line begins, given the lines of the block before it."""
    if _is_apart(line):
        heading = _HEADING.match(line)
        return Block(Kind.HEADING, number, heading[2] or "", len(heading[1])) if heading else None
    bullet = _BULLET.match(line)
    if bullet:
        return Block(Kind.ITEM, number, line[bullet.end() :], _columns(line))
    if held and len(line) > _LONGEST:
        return None
    bold = _BOLD_LINE.match(line)
    if bold and not held:
        return Block(Kind.HEADING, number, bold[2], _BOLD_LEVEL)
    if not held or _LABELLED.match(line) or _defines_anew(line, held):
        return Block(Kind.PARAGRAPH, number, line, _columns(line))
    return None


def _columns(line: str) -> int:
    whole = line.expandtabs(4)
    return len(whole) - len(whole.lstrip())


def _defines_anew(line: str, held: Sequence[str]) -> bool:
    """Say whether a line gives an id to a requirement of its own, and does not go on with one."""
    last = held[-1].rstrip()
    is_whole = last.endswith((".", ":", ";", "!", "?"))
    begins = held[0].strip()[:_LONGEST]
    is_whole = is_whole or (bool(split_own_id(begins)[0]) and not _UNFINISHED.search(last[-9:]))
    return is_whole and bool(split_own_id(line.strip())[0])


def _is_apart(line: str) -> bool:
    if not line.strip():
        return True
    return len(line) <= _LONGEST and bool(_HEADING.match(line) or _RULE.match(line))


def _is_underlined(line: str, held: Sequence[str], first: Block) -> bool:
    """Say whether a line makes a heading of the one line of a paragraph before it."""
    if first.kind is not Kind.PARAGRAPH or len(held) != 1 or not _UNDERLINE.match(line[:_LONGEST]):
        return False
    return not held[0].rstrip().endswith((".", ":", ";", ",", "!", "?"))
