"""Makes text that models and commands wrote safe to show on a terminal.

This module is pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

# ECMA-48, in its 7-bit (ESC [) and 8-bit (U+009B) forms: control sequences, control strings (OSC,
# DCS, SOS, PM, APC) with their content, and the short escapes. A string stops at any further
# introducer, so that many unfinished strings take linear time.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9b-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_BREAKS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# The remaining control characters, and invisible characters that change how text is seen: soft
# hyphen, bidi marks, embeddings, overrides and isolates, zero-width characters, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_FOLD = re.compile(r"\s*\n\s*")
_TAB_WIDTH = 4


def clean(text: str) -> str:
    """Return `text` without escape sequences, control characters and invisible ones.

    Every kind of line break becomes a newline, and tabs become spaces.
    """
    text = _BREAKS.sub("\n", _SEQUENCES.sub("", text))
    return _UNSEEN.sub("", text.expandtabs(_TAB_WIDTH))


def one_line(text: str) -> str:
    """Return `text` on one line: breaks, with the space around them, become one space."""
    return _FOLD.sub(" ", text.strip())


def shorten(text: str, limit: int) -> str:
    """Return `text`, cut to `limit` characters where it is longer; the dots count in."""
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


def cell_width(text: str) -> int:
    """Return how many columns `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def on_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value, an event or a block with `change` made to every text in it."""
    match value:
        case str():
            return change(value)
        case tuple() | list():
            return type(value)(on_texts(each, change) for each in value)
        case dict():
            return {on_texts(key, change): on_texts(each, change) for key, each in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            texts = {each.name: getattr(value, each.name) for each in fields(value)}
            return replace(value, **on_texts(texts, change))
        case _:
            return value


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
