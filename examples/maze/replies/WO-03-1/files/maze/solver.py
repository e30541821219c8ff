"""The shortest way through a maze."""

from collections import deque

from maze.grid import Cell, Maze


def solve(maze: Maze) -> list[Cell]:
    """Return a shortest way, entrance and exit included, or an empty list when there is none."""
    # Breadth first: a cell is first seen on a shortest way to it.
    came_from: dict[Cell, Cell | None] = {maze.entrance: None}
    waiting = deque([maze.entrance])
    while waiting and maze.exit not in came_from:
        here = waiting.popleft()
        for cell in maze.reachable(here):
            if cell not in came_from:
                came_from[cell] = here
                waiting.append(cell)
    return _way_to(maze.exit, came_from) if maze.exit in came_from else []


def _way_to(goal: Cell, came_from: dict[Cell, Cell | None]) -> list[Cell]:
    way: list[Cell] = []
    cell: Cell | None = goal
    while cell is not None:
        way.append(cell)
        cell = came_from[cell]
    return way[::-1]
