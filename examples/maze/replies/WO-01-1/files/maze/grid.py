"""A maze as data: a rectangle of cells, and passages between neighbours."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

SMALLEST_SIDE = 2


class Cell(NamedTuple):
    """A place in the maze; the top left one is row 0, column 0."""

    row: int
    column: int


# A passage has no direction: it is the set of the two cells it joins.
Passage: TypeAlias = frozenset[Cell]


def passage(one: Cell, other: Cell) -> Passage:
    """Return the passage between two cells; their order doesn't matter."""
    return frozenset({one, other})


@dataclass(frozen=True, slots=True)
class Maze:
    """A rectangle of cells, with a wall between neighbours unless a passage joins them.

    Raises ValueError when a side is shorter than SMALLEST_SIDE.
    """

    width: int
    height: int
    passages: frozenset[Passage] = frozenset()

    def __post_init__(self) -> None:
        if min(self.width, self.height) < SMALLEST_SIDE:
            raise ValueError(
                f"a maze needs at least {SMALLEST_SIDE} by {SMALLEST_SIDE} cells, "
                f"not {self.width} by {self.height}"
            )

    @property
    def entrance(self) -> Cell:
        """Return the top left cell."""
        return Cell(0, 0)

    @property
    def exit(self) -> Cell:
        """Return the bottom right cell."""
        return Cell(self.height - 1, self.width - 1)

    def neighbours(self, cell: Cell) -> list[Cell]:
        """Return the cells around this one, walls or not: up, right, down, left."""
        row, column = cell
        around = [
            Cell(row - 1, column),
            Cell(row, column + 1),
            Cell(row + 1, column),
            Cell(row, column - 1),
        ]
        return [other for other in around if self._contains(other)]

    def reachable(self, cell: Cell) -> list[Cell]:
        """Return the neighbours that a passage joins to this cell, in the same order."""
        return [other for other in self.neighbours(cell) if passage(cell, other) in self.passages]

    def _contains(self, cell: Cell) -> bool:
        return 0 <= cell.row < self.height and 0 <= cell.column < self.width
