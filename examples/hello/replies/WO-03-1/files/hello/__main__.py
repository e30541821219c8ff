"""The command line: `python -m hello [--bye] [NAME]`."""

import argparse
from collections.abc import Sequence

from hello.greeting import farewell, greet


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the sentence and return the exit code; None means the process's own arguments."""
    parser = argparse.ArgumentParser(prog="hello", description="Greet somebody.")
    parser.add_argument("name", nargs="?", default="", help="whom to greet (default: the world)")
    parser.add_argument("--bye", action="store_true", help="say goodbye instead")
    options = parser.parse_args(arguments)
    sentence = farewell if options.bye else greet
    print(sentence(options.name))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
