"""Lays out the order graph: a place for each order and a curve for each need. Pure.

Orders stand in layers, each below all that it needs. A graph with very many layers would be a
thin strip of many screens, so its orders fill rows in the plan's sequence instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmch.run_view.model.orders import OrderView

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
    """Return the path of an SVG curve between two boxes."""
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
    """Return as much of the title as fits into a box."""
    room = (grid.box_width - 20) // 7
    title = " ".join(order.title.split())
    return title if len(title) <= room else f"{title[: room - 1].rstrip()}…"
