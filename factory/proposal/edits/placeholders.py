"""Finds lines that stand for other lines: "the rest is unchanged". Pure."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

_COMMENT = re.compile(
    r"(?:(?:pass|\.\.\.)\s*)?(?:#+|//+|/\*+|--|<!--|;+|%+)\s*(?P<text>.*?)\s*(?:\*/|-->)?\s*$"
)
_DOTS: Final = r"(?:\.{3,}|…)"
_WHAT: Final = (
    r"(?:code|content|contents|file|class|function|functions|method|methods|module|implementation|"
    r"lines?|body|logic|imports?|definitions?|tests?|attributes|fields|part|section)"
)
_WHICH: Final = (
    r"(?:rest|remainder|remaining|existing|other|previous|original|unchanged|same|above|below)"
)
_ELIDING = re.compile(
    rf"{_DOTS}"
    rf"|{_DOTS}.*\b(?:{_WHICH}|{_WHAT}|as before|omitted|keep)\b.*"
    rf"|.*\b(?:{_WHICH}|omitted|as before|keep)\b.*{_DOTS}"
    rf"|(?:the )?(?:rest|remainder) of (?:the |this |your )?{_WHAT}\b.*"
    rf"|(?:the |all )?(?:rest|remaining|existing|other|previous) {_WHAT}(?: {_WHAT})?"
    r" (?:here|unchanged|as before|(?:goes|go|remains?|stays?|is|are|continues?)\b.*)"
    r"|(?:the )?rest (?:is |are |remains? |stays? )?(?:unchanged|the same|as before)"
    r"|(?:unchanged|no changes?|same as (?:before|above)|omitted(?: for brevity)?)",
    re.IGNORECASE,
)
_LONGEST: Final = 200
_PROSE: Final = (".md", ".markdown", ".rst", ".txt", ".yaml", ".yml", "")


def find_placeholder(path: str, new: str, old: str) -> str:
    """Return the first line of `new` that stands for lines left out, or nothing.

    A line that the text `old` has as well is none: it is a part of the file. A line of dots alone
    may be the body of a definition, and means something in some formats of text.
    """
    there: frozenset[str] | None = None
    before = ""
    for line in new.split("\n"):
        if _is_placeholder(line, before, path):
            there = frozenset(each.strip() for each in old.split("\n")) if there is None else there
            if line.strip() not in there:
                return line.strip()
        before = line.strip() or before
    return ""


def _is_placeholder(line: str, before: str, path: str) -> bool:
    text = line.strip()
    if text in ("...", "…"):
        opens_body = before.endswith((":", '"""', "'''"))
        return not opens_body and PurePosixPath(path).suffix.lower() not in _PROSE
    comment = _COMMENT.match(text) if len(text) <= _LONGEST else None
    return comment is not None and _ELIDING.fullmatch(comment["text"]) is not None
