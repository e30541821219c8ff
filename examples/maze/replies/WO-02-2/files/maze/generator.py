"""Random mazes with exactly one way between any two cells."""

import random

from maze.grid import Maze, Passage, passage


def generate(width: int, height: int, seed: int) -> Maze:
    """Return a perfect maze; the same arguments always give the same one.

    Raises ValueError when the maze would be too small.
    """
    walled = Maze(width, height)
    dice = random.Random(seed)
    passages: set[Passage] = set()
    visited = {walled.entrance}
    # Walk at random into unvisited cells; at a dead end, go back to where there is a choice left.
    # The way back is a list rather than the call stack, so a large maze is no deep recursion.
    trail = [walled.entrance]
    while trail:
        here = trail[-1]
        fresh = [cell for cell in walled.neighbours(here) if cell not in visited]
        if not fresh:
            trail.pop()
            continue
        chosen = fresh[dice.randrange(len(fresh))]
        passages.add(passage(here, chosen))
        visited.add(chosen)
        trail.append(chosen)
    return Maze(width, height, frozenset(passages))
