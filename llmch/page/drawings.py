"""Lays out the order graph and the time line.

Orders stand in layers, each below all that it needs. A graph with very many layers would be a
thin strip of many screens, so its orders fill rows in the plan's sequence instead.

Positions are percentages of the whole time, so that the drawing fits any width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from llmch.console.line import duration
from llmch.runs.run_model import Judged, OrderView, SpanKind, TimeSpan, Track

_DEEPEST = 24  # layers that are drawn as layers
_SMALL_FROM = 40  # orders


@dataclass(frozen=True, slots=True)
class Node:
    """Hold the place of an order: the left upper corner of its box."""

    order: OrderView
    x: int
    y: int
    label: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Hold the curve from an order to one that needs it."""

    before: str
    after: str
    path: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """Hold the whole graph, and the sizes of all of it and of a box."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int
    box_width: int
    box_height: int
    layered: bool


@dataclass(frozen=True, slots=True)
class _Grid:
    columns: int
    box_width: int
    box_height: int
    gap_x: int
    gap_y: int

    def place(self, column: float, row: int) -> tuple[int, int]:
        x = round(column * (self.box_width + self.gap_x)) + _MARGIN
        return x, row * (self.box_height + self.gap_y) + _MARGIN


_MARGIN = 8
_LARGE = _Grid(5, 190, 46, 22, 34)
_SMALL = _Grid(11, 78, 26, 16, 30)


def draw_graph(orders: Sequence[OrderView]) -> Drawing:
    """Return the drawing of the orders and their needs."""
    grid = _SMALL if len(orders) > _SMALL_FROM else _LARGE
    layers = _layers(orders)
    layered = len(layers) <= _DEEPEST
    rows = _rows(layers, grid.columns) if layered else _in_sequence(orders, grid.columns)
    found: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        indent = (grid.columns - len(row)) / 2 if layered else 0
        for column, order in enumerate(row):
            found[order.id] = grid.place(column + indent, number)
    places = _to_the_left(found)
    nodes = tuple(Node(each, *places[each.id], _label(each, grid)) for row in rows for each in row)
    edges = tuple(
        Edge(name, each.id, _curve(places[name], places[each.id], grid))
        for each in orders
        for name in each.needs
        if name in places
    )
    return Drawing(
        nodes,
        edges,
        max((each.x for each in nodes), default=0) + grid.box_width + _MARGIN,
        max((each.y for each in nodes), default=0) + grid.box_height + _MARGIN,
        grid.box_width,
        grid.box_height,
        layered,
    )


def _to_the_left(places: Mapping[str, tuple[int, int]]) -> Mapping[str, tuple[int, int]]:
    """Return the places without the empty columns on their left."""
    first = min((x for x, _ in places.values()), default=_MARGIN) - _MARGIN
    return {name: (x - first, y) for name, (x, y) in places.items()}


def _layers(orders: Sequence[OrderView]) -> list[list[OrderView]]:
    """Return the orders by the length of the longest chain of orders that each needs."""
    depth: dict[str, int] = {}
    for each in orders:  # an order needs earlier ones only
        depth[each.id] = 1 + max((depth.get(name, -1) for name in each.needs), default=-1)
    layers: list[list[OrderView]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for each in orders:
        layers[depth[each.id]].append(each)
    return layers


def _rows(layers: Sequence[Sequence[OrderView]], columns: int) -> list[Sequence[OrderView]]:
    """Return the rows of the drawing: a layer that is too wide takes several."""
    rows: list[Sequence[OrderView]] = []
    column: dict[str, float] = {}
    for layer in layers:
        ordered = sorted(layer, key=lambda each: _middle(each, column))
        for start in range(0, len(ordered), columns):
            row = ordered[start : start + columns]
            rows.append(row)
            for number, each in enumerate(row):
                column[each.id] = number + (columns - len(row)) / 2
    return rows


def _middle(order: OrderView, column: Mapping[str, float]) -> float:
    """Return the mean column of what an order needs: below it, the lines are short."""
    found = [column[name] for name in order.needs if name in column]
    return sum(found) / len(found) if found else 0.0


def _in_sequence(orders: Sequence[OrderView], columns: int) -> list[Sequence[OrderView]]:
    return [orders[start : start + columns] for start in range(0, len(orders), columns)]


def _curve(start: tuple[int, int], end: tuple[int, int], grid: _Grid) -> str:
    (x1, y1), (x2, y2) = start, end
    if y1 == y2:
        middle = y1 + grid.box_height // 2
        if x2 - x1 <= grid.box_width + grid.gap_x:
            return f"M{x1 + grid.box_width} {middle}H{x2 - 5}"
        top, left = y1 - grid.gap_y // 2, x1 + grid.box_width // 2
        right = x2 + grid.box_width // 2
        return f"M{left} {y1}C{left} {top} {right} {top} {right} {y2 - 5}"
    left, right = x1 + grid.box_width // 2, x2 + grid.box_width // 2
    bottom = y1 + grid.box_height
    bend = max(12, (y2 - bottom) // 2)
    return f"M{left} {bottom}C{left} {bottom + bend} {right} {y2 - bend} {right} {y2 - 5}"


def _label(order: OrderView, grid: _Grid) -> str:
    room = (grid.box_width - 20) // 7
    title = " ".join(order.title.split())
    return title if len(title) <= room else f"{title[: room - 1].rstrip()}…"


_MOST_ROWS = 40  # with more orders, those that were made one after the other share a lane
_TICKS = 8
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)


@dataclass(frozen=True, slots=True)
class Bar:
    """Hold a bar of a lane: its place, its kind, and the text about it."""

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


def lay_out(tracks: Sequence[Track], planning: Sequence[TimeSpan] = ()) -> TimeLine:
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
    waits = any(span.activity is SpanKind.WAIT for track in tracks for span in track.spans)
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


def _bar(track: Track, span: TimeSpan, total: float) -> Bar:
    seconds = duration(span.end - span.start)
    at = duration(span.start)
    has_outcome = span.activity not in (SpanKind.MODEL, SpanKind.WAIT)
    outcome = f", {span.judged}" if has_outcome else ""
    text = f"{track.order} {span.label}{outcome}, {seconds} from {at}".strip()
    left = 100 * span.start / total
    return Bar(round(left, 3), round(100 * span.end / total - left, 3), span.activity, span.judged,
               text)  # fmt: skip


def _said(tracks: Sequence[Track]) -> Iterator[str]:
    for track in tracks:
        for span in track.spans:
            if span.activity is SpanKind.ATTEMPT:
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
