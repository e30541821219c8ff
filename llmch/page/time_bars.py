"""Lays out the time line: which lane has which orders, and where each bar stands. Pure.

Positions are percentages of the whole time, so that the drawing fits any width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from llmch.console.figures import duration
from llmch.run_view.model.states import Judged
from llmch.run_view.model.time_spans import Activity, Span, Track

_MOST_ROWS = 40  # with more orders, those that were made one after the other share a lane
_TICKS = 8
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)


@dataclass(frozen=True, slots=True)
class Bar:
    """Hold a bar of a lane: where it stands, what it is, and what to say about it."""

    left: float
    width: float
    kind: str
    state: Judged
    text: str


@dataclass(frozen=True, slots=True)
class Lane:
    """Hold the bars of one or several orders; `text` says for a listener what the lane shows.

    `is_planning` says that it is the lane of the plan, which was made before the run.
    """

    orders: tuple[str, ...]
    title: str
    bars: tuple[Bar, ...]
    text: str
    is_planning: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Hold a mark of the time axis."""

    left: float
    text: str


@dataclass(frozen=True, slots=True)
class TimeLine:
    """Hold the lanes and the axis."""

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    shared: bool
    """Whether lanes hold several orders."""
    waits: bool
    """Whether any order waited for its turn."""


def lay_out(tracks: Sequence[Track], planning: Sequence[Span] = ()) -> TimeLine:
    """Return the time line of the tracks; without any, it has no lanes.

    The spans of `planning` get the first lane. It has the same scale, and a beginning of its own:
    a plan may have been made days before the run.
    """
    plan = Track("", "planning, before the run", tuple(planning))
    total = max((each.end for each in (plan, *tracks)), default=0.0)
    if not total:
        return TimeLine((), (), False, False)
    shared = len(tracks) > _MOST_ROWS
    groups = _shared_lanes(tracks) if shared else [[each] for each in tracks]
    lanes = tuple(_lane(each, total) for each in groups)
    if planning:
        lanes = (replace(_lane([plan], total), is_planning=True), *lanes)
    waits = any(span.activity is Activity.WAIT for track in tracks for span in track.spans)
    return TimeLine(lanes, tuple(_ticks(total)), shared, waits)


def _shared_lanes(tracks: Sequence[Track]) -> list[list[Track]]:
    """Put each track on the first lane that is free by then."""
    lanes: list[list[Track]] = []
    for track in sorted(tracks, key=lambda each: each.start):
        free = next((lane for lane in lanes if lane[-1].end <= track.start), None)
        if free is None:
            lanes.append([track])
        else:
            free.append(track)
    return lanes


def _lane(tracks: Sequence[Track], total: float) -> Lane:
    orders = tuple(each.order for each in tracks if each.order)
    single = tracks[0] if len(tracks) == 1 else None
    title = (single.title or "before the orders") if single else ""
    bars = tuple(_bar(track, span, total) for track in tracks for span in track.spans)
    return Lane(orders, title, bars, "; ".join(_said(tracks)))


def _bar(track: Track, span: Span, total: float) -> Bar:
    seconds = duration(span.end - span.start)
    at = duration(span.start)
    has_outcome = span.activity not in (Activity.MODEL, Activity.WAIT)
    outcome = f", {span.judged}" if has_outcome else ""
    text = f"{track.order} {span.label}{outcome}, {seconds} from {at}".strip()
    left = 100 * span.start / total
    return Bar(round(left, 3), round(100 * span.end / total - left, 3), span.activity, span.judged,
               text)  # fmt: skip


def _said(tracks: Sequence[Track]) -> Iterator[str]:
    for track in tracks:
        for span in track.spans:
            if span.activity is Activity.ATTEMPT:
                times = f"{duration(span.start)} to {duration(span.end)}"
                yield f"{track.order} {span.label} {span.judged}, {times}"


def _ticks(total: float) -> Iterator[Tick]:
    step = next((each for each in _STEPS if total / each <= _TICKS), total / _TICKS)
    for number in range(math.floor(total / step) + 1):
        if (left := 100 * number * step / total) <= 97:
            yield Tick(round(left, 3), _tick_text(number * step))


def _tick_text(seconds: float) -> str:
    if not seconds:
        return "0"
    return f"{seconds:g}s" if seconds < 60 else duration(seconds).replace("m00s", "m")
