"""Cuts a module into chunks of whole top-level statements, without parsing it.

A syntax tree of 20,000 lines takes a quarter of a second. To edit one definition, only the tree of
its chunk is needed, and finding the chunks takes a tenth of that time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# A comment or a string. Possessive repetitions keep the time linear; a string that never closes
# ends with its line, or with the text if its quotes are triple.
_STRING_OR_COMMENT: Final = re.compile(
    r"#[^\n]*+"
    r'|"""(?:[^\\"]++|\\.|"(?!""))*+(?:""")?'
    r"|'''(?:[^\\']++|\\.|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'(?:[^'\\\n]++|\\.)*+'?",
    re.DOTALL,
)
_AT_MARGIN: Final = re.compile(r"\n(?:(?P<decorator>@)|(?:async[ \t]+)?(?:def|class)[ \t])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Hold some top-level statements of a module, their offset, and the number of lines above."""

    text: str
    offset: int
    lines_above: int


def split_chunks(source: str) -> tuple[Chunk, ...]:
    """Return the chunks of a module in sequence: together they are the module.

    Each chunk but the first begins with a function or a class, its decorators included. The chunks
    of a module that parses do so each by itself, unless a line begins with the operator `@`.
    """
    strings = multiline_strings(source)
    starts = [0]
    decorator: int | None = None
    for found in _AT_MARGIN.finditer(f"\n{source}"):
        start = found.start()  # in `source`, which lacks the first line end
        if _is_within(start, strings):
            continue
        if found["decorator"]:
            decorator = start if decorator is None else decorator
            continue
        starts.append(start if decorator is None else decorator)
        decorator = None
    chunks: list[Chunk] = []
    line = 0
    for start, end in zip(starts, (*starts[1:], len(source)), strict=True):
        text = source[start:end]
        chunks.append(Chunk(text, start, line))
        line += text.count("\n")
    return tuple(chunks)


def multiline_strings(source: str) -> tuple[tuple[int, int], ...]:
    """Return the start and the end of each string of several lines in `source`, in sequence."""
    return tuple(found.span() for found in _STRING_OR_COMMENT.finditer(source) if "\n" in found[0])


def _is_within(position: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (position, -1)) - 1
    return index >= 0 and spans[index][0] < position < spans[index][1]
