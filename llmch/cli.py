"""The command line: finds the verb, and is the one place where an error becomes an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from llmch import __version__
from llmch.verbs import VERBS, render_help


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises but for what ends an interpreter."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    match arguments:
        case [] | ["-h" | "--help", *_]:
            sys.stdout.write(render_help())
            return 2 if not arguments else 0
        case ["-V" | "--version", *_]:
            sys.stdout.write(f"llmch {__version__}\n")
            return 0
        case ["help", verb, *_] if verb in VERBS:
            arguments = [verb, "--help"]
    from llmch.boundary import run_verb  # not needed for the quick answers above

    return run_verb(arguments)
