from itertools import pairwise

import pytest

from maze.generator import generate
from maze.grid import Cell, Maze, passage
from maze.solver import solve


def without_walls(width, height):
    maze = Maze(width, height)
    cells = [Cell(row, column) for row in range(height) for column in range(width)]
    joined = {passage(cell, other) for cell in cells for other in maze.neighbours(cell)}
    return Maze(width, height, frozenset(joined))


@pytest.mark.parametrize("seed", range(5))
def test_the_way_leads_from_entrance_to_exit_through_passages(seed):
    maze = generate(12, 6, seed)
    way = solve(maze)
    assert (way[0], way[-1]) == (maze.entrance, maze.exit)
    assert all(there in maze.reachable(here) for here, there in pairwise(way))


@pytest.mark.parametrize(("width", "height"), [(2, 2), (5, 3), (4, 7)])
def test_the_way_is_a_shortest_one_where_there_are_many(width, height):
    assert len(solve(without_walls(width, height))) == width + height - 1


def test_a_maze_without_a_way_has_an_empty_solution():
    assert solve(Maze(3, 3)) == []


def test_a_large_maze_is_solved():
    assert solve(generate(100, 100, seed=1))
