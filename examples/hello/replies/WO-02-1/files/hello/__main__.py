"""The command line: `python -m hello [NAME]`."""

import argparse
from collections.abc import Sequence

from hello.greeting import greet


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the greeting and return the exit code; None means the process's own arguments."""
    parser = argparse.ArgumentParser(prog="hello", description="Greet somebody.")
    parser.add_argument("name", nargs="?", default="", help="whom to greet (default: the world)")
    options = parser.parse_args(arguments)
    print(greet(options.name))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
