"""Holds the text of a file by its lines, and finds those that come nearest to others. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property
from itertools import accumulate, islice
from typing import Final

_WORD: Final = re.compile(r"\w+")
_PLACES_LOOKED_AT: Final = 50  # of a line that occurs often
_LINES_COMPARED: Final = 5
_DIFFERENT_LINES: Final = 500  # among which a misspelt line is looked for
_MOST_LINES_SHOWN: Final = 12
_LONGEST_SHOWN: Final = 200  # characters of one line


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Hold some lines of a file, cut where they are very long; `line` is the first, from 1."""

    line: int = 0
    text: str = ""


class FileText:
    """Hold a text, and index it as far as somebody asks."""

    def __init__(self, text: str) -> None:
        self.text: Final = text

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines without their newlines; a carriage return stays."""
        return lines_of(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Return the offset of each line, and of the end."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    @cached_property
    def closed(self) -> str:
        """Return the text after a newline and with its last line ended like the one before.

        So whole lines can be searched for.
        """
        end = "" if self.text.endswith("\n") else self.newline_at(len(self.lines) - 1)
        return f"\n{self.text}{end}"

    @cached_property
    def stripped(self) -> list[str]:
        """Return the lines without the white space around them."""
        return [line.strip() for line in self.lines]

    @cached_property
    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers of the lines, from 0, by what they are without white space."""
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.stripped):
            found.setdefault(line, []).append(number)
        return found

    def newline_at(self, number: int) -> str:
        """Return the line end of a line, which for a last line without one is that before it."""
        is_open = number == len(self.lines) - 1 and not self.text.endswith("\n")
        line = self.lines[max(number - is_open, 0)] if self.lines else ""
        return "\r\n" if line.endswith("\r") else "\n"

    def excerpt(self, first: int, count: int) -> Excerpt:
        """Return some of the lines from `first` on, which counts from 0."""
        first = max(first, 0)
        lines = self.lines[first : first + min(count, _MOST_LINES_SHOWN)]
        return Excerpt(first + 1, "".join(f"{_cut(line)}\n" for line in lines))

    def nearest(self, wanted: str) -> Excerpt:
        """Return the lines that come nearest to those of `wanted`; none if nothing is like them."""
        sought = [line.strip() for line in lines_of(wanted)]
        start = self._most_alike(sought)
        return Excerpt() if start is None else self.excerpt(start - 1, len(sought) + 2)

    def _most_alike(self, sought: Sequence[str]) -> int | None:
        votes: Counter[int] = Counter()
        for index, line in enumerate(sought):
            if _WORD.search(line):
                places = self.numbers.get(line, [])[:_PLACES_LOOKED_AT]
                votes.update(number - index for number in places)
        if votes:
            return max(votes, key=lambda start: (votes[start], -start))
        longest = max(range(len(sought)), key=lambda index: len(sought[index]), default=0)
        number = self._most_alike_line(sought[longest]) if sought else None
        return None if number is None else number - longest

    def _most_alike_line(self, sought: str) -> int | None:
        words = set(_WORD.findall(sought[:_LONGEST_SHOWN]))
        shared = Counter[int]()
        for number, line in enumerate(self.stripped):
            if common := len(words.intersection(_WORD.findall(line[:_LONGEST_SHOWN]))):
                shared[number] = common
        best = [number for number, _ in shared.most_common(_LINES_COMPARED)]
        if not best:
            return self._misspelt(sought)
        return max(best, key=lambda number: _likeness(sought, self.stripped[number]))

    def _misspelt(self, sought: str) -> int | None:
        lines = [
            line for line in islice(self.numbers, _DIFFERENT_LINES) if len(line) < _LONGEST_SHOWN
        ]
        close = get_close_matches(sought[:_LONGEST_SHOWN], lines, 1)
        return self.numbers[close[0]][0] if close else None


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their newlines; a carriage return stays."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one[:_LONGEST_SHOWN], other[:_LONGEST_SHOWN]).ratio()


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}…"
