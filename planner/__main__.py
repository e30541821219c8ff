"""Runs `python -m planner compile ...`, which is another name for `llmch plan ...`."""

from __future__ import annotations

import sys
from importlib import import_module

from shared.errors import ExitCode


def main(arguments: list[str]) -> int:
    """Run `compile` and return its exit code."""
    match arguments:
        case ["compile", *rest]:
            # Imported by name at run time: the planner may not depend on the command line above it.
            code: int = import_module("llmch.cli").main(["plan", *rest])
            return code
        case _:
            sys.stderr.write("usage: python -m planner compile [OPTIONS]\n")
            return ExitCode.OK if arguments[:1] in (["-h"], ["--help"]) else ExitCode.INVALID


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
