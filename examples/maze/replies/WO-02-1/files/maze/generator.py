"""Random mazes with exactly one way between any two cells."""

import random

from maze.grid import Maze


def generate(width: int, height: int, seed: int) -> Maze:
    """Return a perfect maze; the same arguments always give the same one.

    Raises ValueError when the maze would be too small.
    """
    maze = Maze(width, height)
    dice = random.Random(seed)
    visited = {maze.entrance}
    trail = [maze.entrance]
    while trail:
        here = trail[-1]
        fresh = [cell for cell in maze.neighbours(here) if cell not in visited]
        if not fresh:
            trail.pop()
            continue
        chosen = fresh[dice.randrange(len(fresh))]
        maze = maze.with_passage(here, chosen)
        visited.add(chosen)
        trail.append(chosen)
    return maze
