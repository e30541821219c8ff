"""Finds the lines that a search text means, and splices them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property
from itertools import accumulate, islice
from typing import Final

from shared.languages.capabilities import Splice

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


_MOST_MATCHES: Final = 100


@dataclass(frozen=True, slots=True)
class Found:
    """Hold the splice for the one place that a search text matches.

    `repair` says up to what it matches; it is empty for an exact match.
    """

    splice: Splice
    repair: str = ""


@dataclass(frozen=True, slots=True)
class NotFound:
    """Hold the first line, from 1, of each place that a search text matches: none, or several."""

    lines: tuple[int, ...] = ()


def find_lines(file: FileText, search: str, replace: str) -> Found | NotFound:
    """Return how `replace` takes the place of the lines `search`, if there is one such place.

    Lines match exactly, else but for their ends, else but for blanks at their ends, else but for an
    indentation that is shifted alike; the replacement is then shifted, too. The first of these that
    matches anywhere decides. `search` has at least one line that is not blank.
    """
    wanted, count = lines_of(search), len(lines_of(search))
    exact = list(_exact_places(file, wanted))
    if len(exact) == 1:
        return Found(_splice(file, exact[0], count, replace))
    if exact:
        return _several(exact)
    places = list(_loose_places(file, wanted))
    for matches, repair in (
        (_but_for_line_ends, "the line ends are the file's"),
        (_but_for_trailing_blanks, "blanks at the ends of lines were passed over"),
    ):
        hits = [each for each in places if _all_match(file, each, wanted, matches)]
        if len(hits) > 1:
            return _several(hits)
        if hits:
            lines = lines_of(replace)
            return Found(_splice(file, hits[0], count, _ended(file, hits[0], lines)), repair)
    shifted = [(each, _shift(file.lines[each : each + count], wanted)) for each in places]
    alike = [(each, shift) for each, shift in shifted if shift is not None]
    if len(alike) != 1:
        return _several([each for each, _ in alike])
    place, shift = alike[0]
    moved = _shifted(lines_of(replace), shift)
    if moved is None:
        return NotFound()
    text = _ended(file, place, moved)
    return Found(_splice(file, place, count, text), "the indentation was shifted to the file's")


@dataclass(frozen=True, slots=True)
class _Shift:
    """Hold the blanks that lines of a reply lack, or have too many, before them."""

    added: str = ""
    removed: str = ""


def _several(places: Sequence[int]) -> NotFound:
    return NotFound(tuple(place + 1 for place in places))


def _exact_places(file: FileText, wanted: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines, from 0, at which the wanted lines are found as they are."""
    needle = "\n" + "".join(f"{line}\n" for line in wanted)
    at, line, counted = file.closed.find(needle), 0, 0
    for _ in range(_MOST_MATCHES):
        if at < 0:
            return
        line, counted = line + file.closed.count("\n", counted, at), at
        yield line
        at = file.closed.find(needle, at + 1)


def _loose_places(file: FileText, wanted: Sequence[str]) -> Iterator[int]:
    """Yield where the wanted lines are found, up to the white space around each of them."""
    sought = [line.strip() for line in wanted]
    rarest = min(
        (index for index, line in enumerate(sought) if line),
        key=lambda index: len(file.numbers.get(sought[index], ())),
    )
    found = 0
    for number in file.numbers.get(sought[rarest], ()):
        start = number - rarest
        if start >= 0 and file.stripped[start : start + len(sought)] == sought:
            yield start
            found += 1
            if found == _MOST_MATCHES:
                return


def _all_match(
    file: FileText, place: int, wanted: Sequence[str], matches: Callable[[str, str], bool]
) -> bool:
    there = file.lines[place : place + len(wanted)]
    return all(map(matches, there, wanted))


def _but_for_line_ends(there: str, wanted: str) -> bool:
    return there.removesuffix("\r") == wanted.removesuffix("\r")


def _but_for_trailing_blanks(there: str, wanted: str) -> bool:
    return there.rstrip() == wanted.rstrip()


def _shift(there: Sequence[str], wanted: Sequence[str]) -> _Shift | None:
    """Return the one shift that leads from the wanted lines to those in the file, if any."""
    shifts = {_shift_of_line(*pair) for pair in zip(there, wanted, strict=True) if pair[0].strip()}
    return next(iter(shifts)) if len(shifts) == 1 else None


def _shift_of_line(there: str, wanted: str) -> _Shift | None:
    here, given = there[: -len(there.lstrip())], wanted[: -len(wanted.lstrip())]
    if here.endswith(given):
        return _Shift(added=here.removesuffix(given))
    return _Shift(removed=given.removesuffix(here)) if given.endswith(here) else None


def _shifted(lines: Sequence[str], shift: _Shift) -> list[str] | None:
    """Return the lines moved, or `None` if one has less indentation than it would lose."""
    moved: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(shift.removed):
            return None
        moved.append(shift.added + line.removeprefix(shift.removed) if line.strip() else "")
    return moved


def _ended(file: FileText, place: int, lines: Sequence[str]) -> str:
    """Return the lines as a text with the line ends that the file has at a place."""
    end = file.newline_at(place)
    return "".join(f"{line.removesuffix(chr(13))}{end}" for line in lines)


def _splice(file: FileText, place: int, count: int, text: str) -> Splice:
    start = file.starts[place]
    end = min(file.starts[place + count], len(file.text))
    if end == len(file.text) and not file.text.endswith("\n"):
        text = text.removesuffix("\n").removesuffix("\r")
    return Splice(start, end, text)


@dataclass(frozen=True, slots=True)
class Placed:
    """Hold a splice with the index of the block that it comes from."""

    index: int
    splice: Splice


def find_overlap(placed: Iterable[Placed]) -> tuple[int, ...]:
    """Return the indices of two blocks that change the same characters; none if no two do.

    Insertions at one place do not overlap, nor does an insertion at the edge of a replacement.
    """
    last: Placed | None = None
    for each in sorted(placed, key=lambda each: (each.splice.start, each.splice.end)):
        if last is not None and each.splice.start < last.splice.end:
            return tuple(sorted({last.index, each.index}))
        if last is None or each.splice.end >= last.splice.end:
            last = each
    return ()


def find_touched(placed: Iterable[Placed], earlier: Iterable[Placed]) -> tuple[int, ...]:
    """Return the indices of two blocks the first of which takes text of the other away, or none.

    The splices `placed` are for the text that those of `earlier` left. An insertion takes nothing.
    """
    taking = [each for each in placed if each.splice.start < each.splice.end]
    shift = 0
    for old in _in_order(earlier):
        start = old.splice.start + shift
        end = start + len(old.splice.text)
        shift = end - old.splice.end
        for each in taking:
            if each.splice.start < end and start < each.splice.end:
                return each.index, old.index
    return ()


def apply_splices(text: str, placed: Sequence[Placed]) -> str:
    """Return the text with all splices, which do not overlap, applied.

    If several insertions have one place, the deepest comes first. A replacement that begins there
    comes last. What two blocks insert alike beside definitions, as an import, is inserted once.
    """
    parts: list[str] = []
    position = 0
    for each in _in_order(placed):
        splice = each.splice
        parts += (text[position : splice.start], splice.text)
        position = splice.end
    parts.append(text[position:])
    return "".join(parts)


def _in_order(placed: Iterable[Placed]) -> Iterator[Placed]:
    seen: set[Splice] = set()
    for each in sorted(placed, key=_order):
        is_import = each.splice.start == each.splice.end and each.splice.depth > 0
        if not (is_import and each.splice in seen):
            yield each
        seen.add(each.splice)


def _order(placed: Placed) -> tuple[int, int, int]:
    splice = placed.splice
    return splice.start, splice.end, -splice.depth
