"""Splits a specification into headings, items, paragraphs and rows, with their authors' ids.

An id counts only in the form of a definition. "as in REQ-01" and "REQ-01 is replaced by REQ-02"
mention one.

The text may be Markdown or plain. Code blocks, comments, front matter, rules and the heads of
tables are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, count
from typing import Final

# Six digits nearly always tell three hundred requirements apart; an id that is taken gets longer.
_DIGEST_LENGTHS: Final = (6, 12, 40)
_PREFIX: Final = "R"

DERIVED_ID: Final = r"(?:R|\d{1,3}(?:\.\d{1,3}){1,3})-(?:[0-9a-f]{40}|[0-9a-f]{12}|[0-9a-f]{6})"
_DERIVED = re.compile(DERIVED_ID)


def derived_id(words: str, taken: Container[str], section: str = "") -> str:
    """Return the id of words that are not taken yet: `R-6a8c1a`, or `2.1-6a8c1a` in a section.

    An id that is taken gets more digits.
    """
    digests = chain((_digest(words),), (_digest(f"{words} {number}") for number in count(2)))
    return next(
        name
        for digest in digests
        for length in _DIGEST_LENGTHS
        if (name := f"{section or _PREFIX}-{digest[:length]}") not in taken
    )


def is_derived(name: str) -> bool:
    """Say whether an id has the form of those that are made from words."""
    return _DERIVED.fullmatch(name) is not None


def section_of(name: str) -> str:
    """Return the number of the section in a derived id, "" if it has none."""
    section = name.partition("-")[0]
    return "" if section == _PREFIX or not is_derived(name) else section


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


# Names of requirements that may precede their number directly, as in `R1` and `FR12`.
_KNOWN: Final = "REQ|RQ|NFR|FR|NF|UR|SR|SRS|BR|CR|US|UC|AC|SC|TR|IR|QR|DR|R|RULE|STORY|SPEC"
_NUMBER: Final = r"\d{1,6}(?:\.\d{1,4}){0,3}[a-z]?"
_ID: Final = (
    rf"(?:{DERIVED_ID}"
    r"|RC-\d{1,19}"  # of a comment in a review, as its host numbers it
    rf"|(?:{_KNOWN}){_NUMBER}"
    rf"|(?:[Rr]eq|fr|nfr)(?:[-_]?{_NUMBER})"
    r"|(?:REQ|FR|NFR)(?:[-_][A-Z][A-Z0-9]{0,20}){1,3}"
    rf"|[A-Z][A-Z0-9]{{0,15}}(?:[-_.][A-Z][A-Z0-9]{{0,15}}){{0,3}}[-_.]{_NUMBER})"
    r"(?![\w])(?![-./]\w)"
)
# Standards, keys and the like, which have the form of an id.
_OTHER_NAMES: Final = """
AES ALT ANSI ASCII CMD COVID CP CTRL CVE CWE EC ECMA ES GMT GPT HTTP HTTPS IEC IEEE IPV ISO KEY
LEVEL MD META P PART PEP PHASE Q RFC RSA SECTION SHA SHIFT SSL STEP TLS UTC UTF V VERSION
"""
# After these words, an id that nothing sets apart is the subject of a sentence.
_VERBS: Final = """
also and applies apply are as can cannot comes covers defines demands depends describes does
extends for from has have holds if implies in is its may means must needs no not of on only or
overrides refers relates remains replaces requires says shall should specifies still supersedes
that through to until was were when which will with
"""

TICK_BOX: Final = re.compile(r"\[[ xX]\]\s+")
_BEGIN = re.compile(rf"(?P<mark>\*{{1,3}}|_{{1,3}}|`+)?(?P<open>[\[(])?(?P<id>{_ID})")
_AFTER_BRACKET = re.compile(
    r"[\])](?![\[(])[*_`]{0,3}\s*(?::|[-\u2013\u2014](?=\s))?[*_`]{0,3}(?:\s+|$)"
)
_COLON = re.compile(r"[*_`]{0,3}\s?[:\uff1a][*_`]{0,3}(?:\s+|$)")
_DASH = re.compile(r"[*_`]{0,3}\s+[-\u2013\u2014|][*_`]{0,3}(?:\s+|$)")
_POINT = re.compile(r"[*_`]{0,3}[.)][*_`]{0,3}\s+(?=[\"'(`*_]*[A-Z])")
_SPACE = re.compile(r"(?P<mark>[*_`]{1,3})?\s+")
_FIRST_WORD = re.compile(r"[\"'(`*_]*(\w+)")
_ONE_ID = re.compile(_ID)


def split_own_id(text: str) -> tuple[str, str]:
    """Return the id that a text begins with and the text after it; "" and the text if it has none.

    A box to be ticked (`[ ]`) before the id is left out, also without an id.
    """
    text = TICK_BOX.sub("", text, count=1) if TICK_BOX.match(text) else text
    begin = _BEGIN.match(text)
    if begin is None or _is_other_name(begin["id"]):
        return "", text
    rest = _after(begin, text)
    if rest is None or _ONE_ID.match(rest.lstrip("*_`[(")):
        return "", text
    return begin["id"], _balanced(rest, begin["mark"])


def is_own_id(text: str) -> bool:
    """Say whether a text is an id and nothing else, apart from emphasis and brackets."""
    bare = text.strip().strip("*_`").strip("[]()").strip("*_`")
    return _ONE_ID.fullmatch(bare) is not None and not _is_other_name(bare)


def bare_id(text: str) -> str:
    """Return an id without emphasis and brackets."""
    return text.strip().strip("*_`").strip("[]()").strip("*_`")


def _after(begin: re.Match[str], text: str) -> str | None:
    """Return what follows the id where the id is a definition, else `None`."""
    if begin["open"]:
        closed = _AFTER_BRACKET.match(text, begin.end())
        return text[closed.end() :] if closed else None
    for separator in (_COLON, _DASH, _POINT):
        if found := separator.match(text, begin.end()):
            return text[found.end() :]
    space = _SPACE.match(text, begin.end())
    if space is None:
        return None
    rest = text[space.end() :]
    word = _FIRST_WORD.match(rest)
    if word is None or word[1].casefold() in _VERBS.split():
        return None
    is_bold = bool(space["mark"]) and "`" not in space["mark"]
    return rest if is_bold or word[1][0].isupper() else None


def _balanced(rest: str, mark: str | None) -> str:
    """Return the rest without the end of an emphasis that began before the id."""
    if mark and rest.count(mark) % 2:
        before, _, after = rest.partition(mark)
        rest = before + after
    return rest.strip()


def _is_other_name(name: str) -> bool:
    return re.split(r"[-_.\d]", name, maxsplit=1)[0] in _OTHER_NAMES.split()


_BOLD_LEVEL: Final = 7  # a line in bold type heads what follows, below each real heading
_LONGEST: Final = 2000  # characters; a longer line is text, and no heading, rule, label or row

# Below an item, a fence is indented as far as the item's text.
_FENCE = re.compile(r"[ \t]*(`{3,}(?!.*`)|~{3,})")
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
    # Lines end as an editor counts them, and not at a form feed or a separator of Unicode too.
    lines = _without_comments(text).replace("\f", " ").split("\n")
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


def visible_lines(text: str) -> list[str]:
    """Return the lines of a text; those of code, comments and front matter are blank."""
    lines = _without_comments(text).split("\n")
    return [line for _, line in _outside_code(lines)][: len(lines)]


def _without_comments(text: str) -> str:
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
    """Return the number of the last line of YAML front matter; 0 if there is none."""
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
        return Block(Kind.ITEM, number, line[bullet.end() :], indent_of(line))
    if held and len(line) > _LONGEST:
        return None
    bold = _BOLD_LINE.match(line)
    if bold and not held:
        return Block(Kind.HEADING, number, bold[2], _BOLD_LEVEL)
    if not held or _LABELLED.match(line) or _defines_anew(line, held):
        return Block(Kind.PARAGRAPH, number, line, indent_of(line))
    return None


def indent_of(line: str) -> int:
    """Return how far a line is indented, in columns."""
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
