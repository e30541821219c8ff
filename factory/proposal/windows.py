"""Chooses what is shown of a file that is too large to be shown whole. Pure.

Shown are its first lines, its outline, and the windows around the definitions and lines that the
order or a failure points to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.languages.capabilities.edits import OutlineEntry

WINDOWS_BYTES: Final = 24 * 1024
"""How much of a large file is shown in windows."""

_HEAD_LINES = 40
_AROUND_DEFINITION = 3
_AROUND_LINE = 15
_MIN_WORD = 3  # shorter words of a text point everywhere
_WORD = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """Hold the first and the last line of a part of a file, counted from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Pointers:
    """Hold what points to places in a file: names for certain, words perhaps, and line numbers."""

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    lines: tuple[int, ...] = ()


def words_of(*texts: str) -> frozenset[str]:
    """Return the words of some texts that could name a definition, dotted names also in parts."""
    found = {match for text in texts for match in _WORD.findall(text)}
    parts = {part for word in found for part in word.split(".")}
    return frozenset(word for word in found | parts if len(word) >= _MIN_WORD)


def lines_of(path: str, text: str) -> tuple[int, ...]:
    """Return the lines of the file at `path` that a failure's text names."""
    pattern = re.escape(path) + r'(?::|", line |\()(\d{1,7})'
    return tuple(dict.fromkeys(int(each) for each in re.findall(pattern, text)))


def choose_windows(
    text: str, outline: Sequence[OutlineEntry], pointers: Pointers, room: int = WINDOWS_BYTES
) -> tuple[Window, ...]:
    """Return the parts of `text` to show, in their order, of up to about `room` bytes together.

    The head of the file comes first, then what a failure's lines and the order's names point to,
    then what its words point to.
    """
    lines = text.splitlines(keepends=True)
    sizes = [len(line.encode()) for line in lines]
    chosen: set[int] = set()
    for window in _by_weight(lines, outline, pointers):
        wanted = set(range(max(1, window.first), min(len(lines), window.last) + 1)) - chosen
        cost = sum(sizes[number - 1] for number in wanted)
        if cost <= room:
            room -= cost
            chosen |= wanted
    return merge_lines(chosen)


def merge_lines(numbers: Iterable[int]) -> tuple[Window, ...]:
    """Return the windows that hold exactly these lines."""
    found: list[Window] = []
    for number in sorted(numbers):
        if found and found[-1].last == number - 1:
            found[-1] = Window(found[-1].first, number)
        else:
            found.append(Window(number, number))
    return tuple(found)


def _by_weight(
    lines: Sequence[str], outline: Sequence[OutlineEntry], pointers: Pointers
) -> Iterator[Window]:
    yield Window(1, _HEAD_LINES)
    for line in pointers.lines:
        yield Window(line - _AROUND_LINE, line + _AROUND_LINE)
    for names in (pointers.names, pointers.words):
        yield from _definitions(outline, names)
    if not outline:
        for number, text in enumerate(lines, 1):
            if pointers.names & words_of(text):
                yield Window(number - _AROUND_LINE, number + _AROUND_LINE)


def _definitions(outline: Sequence[OutlineEntry], names: frozenset[str]) -> Iterator[Window]:
    """Yield the windows around definitions with these names, those with the whole name first.

    Of a class that is too large to be shown, its head and its methods come one by one.
    """
    whole = [each for each in outline if each.name in names]
    last = [each for each in outline if each not in whole and each.name.split(".")[-1] in names]
    for entry in (*whole, *last):
        yield Window(entry.first - _AROUND_DEFINITION, entry.last + _AROUND_DEFINITION)
        yield Window(entry.first - _AROUND_DEFINITION, entry.first + _AROUND_LINE)
