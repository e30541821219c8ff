"""Finds the lines that a search text means: exactly, else up to white space, never beyond. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from factory.proposal.edits.file_text import FileText, lines_of
from shared.languages.definitions import Splice

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
    """Yield the numbers of the lines, from 0, at which the wanted lines stand as they are."""
    needle = "\n" + "".join(f"{line}\n" for line in wanted)
    at, line, counted = file.closed.find(needle), 0, 0
    for _ in range(_MOST_MATCHES):
        if at < 0:
            return
        line, counted = line + file.closed.count("\n", counted, at), at
        yield line
        at = file.closed.find(needle, at + 1)


def _loose_places(file: FileText, wanted: Sequence[str]) -> Iterator[int]:
    """Yield where the wanted lines stand up to the white space around each of them."""
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
    """Return the one shift that leads from the wanted lines to those in the file, if there is."""
    shifts = {_shift_of_line(*pair) for pair in zip(there, wanted, strict=True) if pair[0].strip()}
    return next(iter(shifts)) if len(shifts) == 1 else None


def _shift_of_line(there: str, wanted: str) -> _Shift | None:
    here, given = there[: -len(there.lstrip())], wanted[: -len(wanted.lstrip())]
    if here.endswith(given):
        return _Shift(added=here.removesuffix(given))
    return _Shift(removed=given.removesuffix(here)) if given.endswith(here) else None


def _shifted(lines: Sequence[str], shift: _Shift) -> list[str] | None:
    """Return the lines moved, or `None` where one has less indentation than it would lose."""
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
