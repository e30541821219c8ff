"""Starts the command line: answers `--help` and `--version`, and passes verbs on.

This module and `llmch.entry.verb_table` import nothing that Python has not loaded by itself.
`--help` and `--version` therefore take hardly longer than a bare interpreter.
"""

import gc
import os
import sys

from llmch.entry import boundary
from llmch.entry.verb_table import OLD_WORDS, VERBS, render_help

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OBJECTS_BETWEEN_LOOKS = 500_000
"""How many objects Python makes before it looks for garbage: at most some 50 MB of it."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    Every error becomes an exit code, so only an exception that ends the interpreter is raised.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    match arguments:
        case []:
            return _answer(render_help(), 2)
        case ["-h" | "--help" | "help"] | ["-h" | "--help", *_]:
            return _answer(render_help(), 0)
        case ["-V" | "--version", *_]:
            from llmch.entry.installation import render_version

            return _answer(render_version(), 0)
        case ["help", verb] if verb in VERBS:
            arguments = [verb, "--help"]
        case ["help", verb] if verb in OLD_WORDS:
            arguments = [OLD_WORDS[verb][0], "--help"]
        case [verb, *rest] if verb in OLD_WORDS:
            arguments = [*OLD_WORDS[verb], *rest]
        case _:
            pass
    # Imports make very many objects that stay. To look for garbage among them again and again
    # takes a tenth of a run's start.
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS)
    let_through = _hold_signals_back()
    return boundary.run_verb(arguments, let_through)


def _hold_signals_back() -> "Callable[[], object]":
    """Have Ctrl-C and its kin wait, and return the function that lets them through again.

    In the midst of the imports that follow, nobody could answer them but Python's traceback.
    """
    import signal

    held = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    return lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before)


def command() -> int:
    """Run the command that the process was started for, and return its exit code."""
    code = main()
    if "llmch.console" not in sys.modules:  # no verb ran
        os._exit(code)  # all is printed, and to take Python down takes a tenth of such an answer
    boundary.end_process(code)
    return code


def _answer(text: str, code: int) -> int:
    """Print `text` and return `code`, also without a reader; 1 if it was lost in another way."""
    if sys.stdout is None:  # it was closed before Python started
        return code
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Python would write the buffered text again at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            from llmch.console.plain_printer import Stream

            why = error.strerror or error
            Stream(sys.stderr).write(f"error: the result could not be printed: {why}\n")
            return 1
    return code
