"""The command line: `python -m maze [--width W] [--height H] [--seed S] [--solve]`."""

import argparse
from collections.abc import Sequence

from maze.drawing import render
from maze.generator import generate
from maze.solver import solve


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the maze and return the exit code; None means the process's own arguments."""
    parser = argparse.ArgumentParser(prog="maze", description="Draw a random maze.")
    parser.add_argument("--width", type=int, default=12, help="cells in a row (default: 12)")
    parser.add_argument("--height", type=int, default=6, help="cells in a column (default: 6)")
    parser.add_argument("--seed", type=int, default=0, help="which maze (default: 0)")
    parser.add_argument("--solve", action="store_true", help="draw the way through it")
    options = parser.parse_args(arguments)
    maze = generate(options.width, options.height, options.seed)
    if options.solve:
        way = solve(maze)
        print(render(maze, way))
        print(f"{len(way) - 1} steps from entrance to exit.")
    else:
        print(render(maze))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
