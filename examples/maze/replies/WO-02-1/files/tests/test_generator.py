import pytest

from maze.generator import generate

SIZES = [(2, 2), (2, 9), (9, 2), (12, 6)]


def cells_from_the_entrance(maze):
    seen = {maze.entrance}
    waiting = [maze.entrance]
    while waiting:
        for cell in maze.reachable(waiting.pop()):
            if cell not in seen:
                seen.add(cell)
                waiting.append(cell)
    return seen


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("seed", range(5))
def test_every_cell_can_be_reached_and_there_are_no_loops(width, height, seed):
    maze = generate(width, height, seed)
    # Connected, with one passage fewer than cells: a tree, so exactly one way between two cells.
    assert len(cells_from_the_entrance(maze)) == width * height
    assert len(maze.passages) == width * height - 1


def test_the_same_seed_gives_the_same_maze():
    assert generate(12, 6, seed=7) == generate(12, 6, seed=7)


def test_another_seed_gives_another_maze():
    assert generate(12, 6, seed=7) != generate(12, 6, seed=8)


def test_a_maze_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="at least"):
        generate(1, 6, seed=0)
