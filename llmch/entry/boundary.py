"""Runs a verb, prints its answer, and turns an error into a message and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from llmch.console import Color, Console, Format, Verbosity, open_console
from llmch.console.document import Outcome
from llmch.console.workflow_commands import runs_in_actions
from llmch.entry.interruption import Interruption, signals_as_exceptions
from llmch.entry.parsing import find_verb, output_arguments, parser_of
from llmch.entry.telemetry import traced
from shared.errors import CommandFailed, ExitCode, Interrupted, InterruptedRun, LlmchError
from shared.secrets.redaction import masking

T = TypeVar("T")

_BUG_HINT = "this is a bug in llmch; the traceback is in the run's folder, or set LLMCH_DEBUG=1"


def run_verb(arguments: Sequence[str]) -> int:
    """Parse and run one verb's command line and return its exit code."""
    try:
        with open_console_for(arguments) as console, signals_as_exceptions() as interruption:
            return guarded(arguments, console, interruption)
    except KeyboardInterrupt:  # a second one, raised while the first was still being handled
        return ExitCode.INTERRUPTED


def guarded(arguments: Sequence[str], console: Console, interruption: Interruption) -> ExitCode:
    """Run a verb, print its answer or the error that ended it, and return the exit code."""

    def show() -> ExitCode:
        outcome = answer(arguments, console)
        console.show(outcome.document)
        return outcome.exit_code

    ended = or_error(show, arguments, interruption)
    return ended if isinstance(ended, ExitCode) else _report(console, ended)


def or_error(
    work: Callable[[], T], arguments: Sequence[str], interruption: Interruption
) -> T | LlmchError:
    """Return what the work of a verb returns, or the error that ended it, whatever it was."""
    try:
        return work()
    except InterruptedRun as interrupt:
        return Interrupted("interrupted", interrupt.hint)
    except KeyboardInterrupt:
        return _interrupted(arguments)
    except Exception as error:
        if os.environ.get("LLMCH_DEBUG") and not isinstance(error, LlmchError):
            raise
        if interruption.asked:  # a library may have turned the interrupt into its own error
            return _interrupted(arguments)
        return _in_words(error)


def _in_words(error: Exception) -> LlmchError:
    match error:
        case LlmchError():
            return error
        case OSError():
            return _refused(error)
        case _:
            return _Bug(f"{type(error).__name__}: {error}", _BUG_HINT)


def _interrupted(arguments: Sequence[str]) -> LlmchError:
    return Interrupted("interrupted", _after_interruption(arguments))


def _after_interruption(arguments: Sequence[str]) -> str:
    """Return what a user can do after an interrupt outside of a run of orders."""
    recorded = any(each.split("=")[0] == "--transcript" for each in arguments)
    match arguments[0]:
        case "run" | "run-all" | "retry":
            return "no order was begun; the same command again begins"
        case "plan" | "build" if recorded:
            return "the replies are kept: the same command again goes on from the last one"
        case "plan" | "build":
            return (
                "the same command starts again from the beginning; with --transcript FILE it would "
                "go on from its replies"
            )
        case _:
            return ""


def _refused(error: OSError) -> LlmchError:
    """Return the error to report when the system refused something and no caller explained it."""
    what = f"{error.filename}: " if error.filename else ""
    return CommandFailed(
        f"{what}{error.strerror or error}", "check the path, your permissions and the free space"
    )


class _Bug(LlmchError):
    exit_code = ExitCode.INTERNAL


def _report(console: Console, error: LlmchError) -> ExitCode:
    console.error(error.message, error.hint, error.exit_code, error.exit_code.name)
    if runs_in_actions(os.environ):
        from llmch.ci.annotations import error_annotation
        from llmch.entry.reports import mask_secrets

        console.annotate([error_annotation(error, mask_secrets)])
    return error.exit_code


def answer(arguments: Sequence[str], console: Console) -> Outcome:
    """Parse and run one verb's command line and return its answer.

    Raises `LlmchError` where the command line is wrong or the verb cannot go on.
    """
    name, *rest = arguments
    verb = find_verb(name)
    args = parser_of(name, verb).parse_args(rest)
    with traced(name, console):
        return verb.execute(args, console)


def open_console_for(arguments: Sequence[str]) -> Console:
    """Return the console that the command line asks for."""
    args = output_arguments(arguments)
    return open_console(
        verbosity=_verbosity(args),
        color=Color.NEVER if args.no_color else Color.AUTO,
        output=_format(args),
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
        mask=masking(os.environ),
        now=lambda: datetime.now(UTC),
    )


def _format(args: argparse.Namespace) -> Format:
    try:
        return Format(args.output_format or Format.TEXT)
    except ValueError:
        return Format.TEXT  # the verb's own parser refuses it


def _verbosity(args: argparse.Namespace) -> Verbosity:
    if args.quiet:
        return Verbosity.QUIET
    return Verbosity.VERBOSE if args.verbose else Verbosity.NORMAL
