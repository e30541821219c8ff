"""Applies splices to a text, and finds those that touch the same characters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.languages.definitions import Splice


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


def apply_splices(text: str, placed: Sequence[Placed]) -> str:
    """Return the text with all splices, which do not overlap, applied.

    Of insertions at one place the deepest comes first, and a replacement that begins there last.
    """
    parts: list[str] = []
    position = 0
    for each in sorted(placed, key=_order):
        splice = each.splice
        parts += (text[position : splice.start], splice.text)
        position = splice.end
    parts.append(text[position:])
    return "".join(parts)


def _order(placed: Placed) -> tuple[int, int, int]:
    splice = placed.splice
    return splice.start, splice.end, -splice.depth
