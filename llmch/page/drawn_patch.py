"""Draws a patch: its files with their lines in colours, cut to what the page has room for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from llmch.page.highlight import highlighted
from llmch.page.patch import Hunk, PatchFile, PatchLine, Side, parse_patch


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """Hold a line of a patch: the element that shows it, its number, and its markup."""

    element: str
    number: int
    code: Markup


@dataclass(frozen=True, slots=True)
class DrawnHunk:
    """Hold the lines of one place of a file."""

    heading: str
    lines: tuple[DrawnLine, ...]


@dataclass(frozen=True, slots=True)
class DrawnFile:
    """Hold a changed file; `left_out` is the number of its lines that are not shown.

    `is_whole` says that all lines are new or all are removed, so that no line stands out.
    """

    path: str
    notes: tuple[str, ...]
    added: int
    removed: int
    hunks: tuple[DrawnHunk, ...]
    left_out: int
    is_whole: bool


_ELEMENTS = {Side.OLD: "del", Side.NEW: "ins", Side.BOTH: "span"}


def draw_patch(patch: str, most_characters: int) -> tuple[DrawnFile, ...]:
    """Return the files of a patch, with the first `most_characters` of its lines."""
    return tuple(_drawn(parse_patch(patch), most_characters))


def _drawn(files: tuple[PatchFile, ...], room: int) -> Iterator[DrawnFile]:
    for file in files:
        hunks = []
        shown = 0
        for hunk in file.hunks:
            fitting = _fitting(hunk.lines, room)
            room -= sum(len(each.text) + 1 for each in fitting)
            shown += len(fitting)
            if fitting:
                hunks.append(_drawn_hunk(hunk, fitting, file.path))
            if len(fitting) < len(hunk.lines):
                room = 0  # the rest of the patch would not follow on from here
        sides = {line.side for hunk in file.hunks for line in hunk.lines}
        total = sum(len(each.lines) for each in file.hunks)
        yield DrawnFile(
            file.path,
            tuple(dict.fromkeys(file.notes)),
            file.added,
            file.removed,
            tuple(hunks),
            total - shown,
            len(sides) == 1,
        )


def _fitting(lines: list[PatchLine], room: int) -> list[PatchLine]:
    fitting = []
    for line in lines:
        room -= len(line.text) + 1
        if room < 0:
            break
        fitting.append(line)
    return fitting


def _drawn_hunk(hunk: Hunk, lines: list[PatchLine], path: str) -> DrawnHunk:
    """Colour the two versions of a place each as a whole, and lay their lines side by side."""
    old = iter(highlighted([each.text for each in lines if each.side is not Side.NEW], path))
    new = iter(highlighted([each.text for each in lines if each.side is not Side.OLD], path))
    drawn = []
    for each in lines:
        if each.side is Side.OLD:
            code = next(old)
        else:
            code = next(new)
            if each.side is Side.BOTH:
                next(old)
        drawn.append(DrawnLine(_ELEMENTS[each.side], each.number, code))
    return DrawnHunk(hunk.heading, tuple(drawn))
