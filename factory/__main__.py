"""Runs `python -m factory run ...`, another name for `llmch run ...`."""

from __future__ import annotations

import sys
from importlib import import_module

from shared.errors import ExitCode


def main(arguments: list[str]) -> int:
    """Run `run` and return its exit code."""
    match arguments:
        case ["run" | "run-all" as verb, *rest]:
            # By name, at run time: the factory's code knows nothing of the command line above it.
            code: int = import_module("llmch.cli").main([verb, *rest])
            return code
        case _:
            sys.stderr.write("usage: python -m factory run|run-all [OPTIONS]\n")
            return ExitCode.OK if arguments[:1] in (["-h"], ["--help"]) else ExitCode.INVALID


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
