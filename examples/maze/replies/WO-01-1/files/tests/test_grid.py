import pytest

from maze.grid import Cell, Maze, passage


def test_the_way_leads_from_top_left_to_bottom_right():
    maze = Maze(width=3, height=2)
    assert (maze.entrance, maze.exit) == (Cell(0, 0), Cell(1, 2))


@pytest.mark.parametrize(("width", "height"), [(1, 5), (5, 1), (0, 0), (-3, 4)])
def test_a_maze_that_is_too_small_is_refused(width, height):
    with pytest.raises(ValueError, match=f"not {width} by {height}"):
        Maze(width, height)


def test_a_cell_in_the_middle_has_four_neighbours():
    assert Maze(3, 3).neighbours(Cell(1, 1)) == [Cell(0, 1), Cell(1, 2), Cell(2, 1), Cell(1, 0)]


def test_a_cell_in_a_corner_has_two_neighbours():
    assert Maze(3, 3).neighbours(Cell(2, 2)) == [Cell(1, 2), Cell(2, 1)]


def test_a_passage_can_be_walked_both_ways():
    upper, lower = Cell(0, 0), Cell(1, 0)
    maze = Maze(2, 2, frozenset({passage(lower, upper)}))
    assert maze.reachable(upper) == [lower]
    assert maze.reachable(lower) == [upper]


def test_a_wall_cannot_be_walked_through():
    assert Maze(2, 2).reachable(Cell(0, 0)) == []
