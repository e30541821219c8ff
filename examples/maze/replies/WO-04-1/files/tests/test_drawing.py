from maze.drawing import render
from maze.generator import generate
from maze.grid import Cell, Maze, passage
from maze.solver import solve

HOOK = Maze(
    2,
    2,
    frozenset(
        {
            passage(Cell(0, 0), Cell(0, 1)),
            passage(Cell(0, 1), Cell(1, 1)),
            passage(Cell(1, 1), Cell(1, 0)),
        }
    ),
)


def test_a_maze_is_drawn_with_a_door_at_each_end():
    assert render(HOOK).splitlines() == [
        "╷   ╶───┐",
        "│       │",
        "├───╴   │",
        "│       │",
        "└───╴   ╵",
    ]


def test_the_way_is_a_trail_of_dots_from_door_to_door():
    assert render(HOOK, solve(HOOK)).splitlines() == [
        "╷ • ╶───┐",
        "│ • • • │",
        "├───╴ • │",
        "│     • │",
        "└───╴ • ╵",
    ]


def test_all_walls_standing_leaves_a_grid_of_closed_cells():
    assert render(Maze(2, 2)).splitlines() == [
        "╷   ┌───┐",
        "│   │   │",
        "├───┼───┤",
        "│   │   │",
        "└───┘   ╵",
    ]


def test_a_cell_is_two_lines_high_and_four_columns_wide():
    lines = render(generate(12, 6, seed=7)).splitlines()
    assert len(lines) == 2 * 6 + 1
    assert {len(line) for line in lines} == {4 * 12 + 1}
