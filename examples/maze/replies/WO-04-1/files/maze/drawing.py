"""A maze as text.

The picture is a lattice of points, of two kinds in each direction: cell (row, column) is the point
(2 * row + 1, 2 * column + 1), and the points with even coordinates are where walls meet. The point
between two neighbours is a wall or a passage. Odd columns are three characters wide, so that a cell
looks about square.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from maze.grid import Cell, Maze

Point: TypeAlias = tuple[int, int]

# Where walls meet, by the walls that are there: 1 up, 2 right, 4 down, 8 left.
JUNCTIONS = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
DOT = "•"


def render(maze: Maze, way: Sequence[Cell] = ()) -> str:
    """Return the picture, without a final newline; `way` is drawn as a trail of dots."""
    walls = _walls(maze)
    trail = _trail(maze, way)
    lines = (
        "".join(_piece((y, x), walls, trail) for x in range(2 * maze.width + 1))
        for y in range(2 * maze.height + 1)
    )
    return "\n".join(lines)


def _walls(maze: Maze) -> set[Point]:
    """Return the points between two junctions that are neither a passage nor a door."""
    between = {
        (y, x)
        for y in range(2 * maze.height + 1)
        for x in range(2 * maze.width + 1)
        if (y + x) % 2 == 1
    }
    return between - {_middle(*joined) for joined in maze.passages} - set(_doors(maze))


def _doors(maze: Maze) -> tuple[Point, Point]:
    """Return the gaps above the entrance and below the exit."""
    return (0, 1), (2 * maze.height, 2 * maze.width - 1)


def _trail(maze: Maze, way: Sequence[Cell]) -> set[Point]:
    if not way:
        return set()
    cells = {_middle(cell, cell) for cell in way}
    steps = {_middle(here, there) for here, there in pairwise(way)}
    return cells | steps | set(_doors(maze))


def _middle(one: Cell, other: Cell) -> Point:
    """Return the point halfway between two cells: for one and the same, the cell's own."""
    return one.row + other.row + 1, one.column + other.column + 1


def _piece(point: Point, walls: set[Point], trail: set[Point]) -> str:
    y, x = point
    if point in trail:
        piece = DOT
    elif y % 2 == 0 and x % 2 == 0:
        piece = _junction(point, walls)
    elif point in walls:
        piece = "│" if y % 2 else "───"
    else:
        piece = " "
    return piece.center(3) if x % 2 else piece


def _junction(point: Point, walls: set[Point]) -> str:
    y, x = point
    around = [(y - 1, x), (y, x + 1), (y + 1, x), (y, x - 1)]
    return JUNCTIONS[sum(1 << bit for bit, arm in enumerate(around) if arm in walls)]
