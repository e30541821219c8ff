"""Runs a verb, prints its answer, and turns whatever ended it into an exit code and a message."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from llmch.arguments import add_output_arguments
from llmch.console import Color, Console, Format, Verbosity, open_console
from llmch.console.document import Outcome
from llmch.console.stream import Stream
from llmch.entry.interruption import Interruption, signals_as_exceptions
from llmch.entry.verb_table import EXAMPLES, VERBS, module_of
from shared.errors import CommandFailed, ExitCode, Interrupted, InvalidInput, LlmchError
from shared.llm.redaction import redact, secret_values

_BUG_HINT = "this is a bug in llmch; the traceback is in the run's folder, or set LLMCH_DEBUG=1"


class Verb(Protocol):
    """The functions that the module of a verb defines."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's own options."""

    def execute(self, args: argparse.Namespace, console: Console) -> Outcome:
        """Do the work and return the answer. Raises `LlmchError` where it cannot go on."""


class UsageError(InvalidInput):
    """The command line itself is wrong."""


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, so that `--json` covers usage errors too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"`{self.prog} --help` lists the options")

    def format_help(self) -> str:
        # Each option stands below, with what it does: all of them in brackets are only in the way.
        self.usage = f"%(prog)s {self._needed()}"
        return super().format_help()

    def _needed(self) -> str:
        """Return what a command line cannot do without."""
        parts = []
        for each in self._actions:
            value = each.metavar or each.dest.upper()
            if not each.option_strings:
                parts.append(f"[{value}]" if each.nargs == "?" else str(value))
            elif each.required:
                parts.append(f"{each.option_strings[0]} {value}")
        return " ".join([*parts, "[OPTIONS]"])

    def print_help(self, file: object = None) -> None:
        # Our own stream does not raise where the reader has gone.
        Stream(sys.stdout).write(self.format_help())


def run_verb(arguments: Sequence[str]) -> int:
    """Parse and run one verb's command line and return its exit code."""
    try:
        with open_console_for(arguments) as console, signals_as_exceptions() as interruption:
            return guarded(arguments, console, interruption)
    except KeyboardInterrupt:  # once more, while the first one was still being dealt with
        return ExitCode.INTERRUPTED


def guarded(arguments: Sequence[str], console: Console, interruption: Interruption) -> ExitCode:
    """Run a verb, print its answer or the error that ended it, and return the exit code."""
    try:
        outcome = answer(arguments, console)
        console.show(outcome.document)
        return outcome.exit_code
    except KeyboardInterrupt:
        return _report(console, _interrupted(arguments))
    except Exception as error:
        if os.environ.get("LLMCH_DEBUG") and not isinstance(error, LlmchError):
            raise
        if interruption.asked:  # a library may have turned the interrupt into an error of its own
            return _report(console, _interrupted(arguments))
        return _report(console, _in_words(error))


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
    """Return what a user can do after an interrupt: not every verb keeps a state to go on from."""
    match arguments[0]:
        case "run" | "run-all" | "build":
            return "state is kept: the same command goes on from here"
        case "plan" if any(each.split("=")[0] == "--transcript" for each in arguments):
            return "replies are kept: the same command goes on from the last one"
        case "plan":
            return (
                "the same command begins anew; with --transcript FILE it goes on from its replies"
            )
        case _:
            return ""


def _refused(error: OSError) -> LlmchError:
    """Return an error for what the system refused and no part of the program has explained."""
    what = f"{error.filename}: " if error.filename else ""
    return CommandFailed(
        f"{what}{error.strerror or error}", "check the path, your permissions and the free space"
    )


class _Bug(LlmchError):
    exit_code = ExitCode.INTERNAL


def _report(console: Console, error: LlmchError) -> ExitCode:
    console.error(error.message, error.hint, error.exit_code, error.exit_code.name)
    return error.exit_code


def answer(arguments: Sequence[str], console: Console) -> Outcome:
    """Parse and run one verb's command line and return its answer.

    Raises `LlmchError` where the command line is wrong, or the verb cannot go on.
    """
    name, *rest = arguments
    if name.startswith("-"):
        raise UsageError(
            f"{name} stands before the verb", f"the verb comes first: `llmch VERB {name}`"
        )
    if name not in VERBS:
        near = difflib.get_close_matches(name, VERBS, n=1)
        hint = f"did you mean `llmch {near[0]}`?" if near else "`llmch --help` lists the verbs"
        raise UsageError(f"there is no verb {name!r}", hint)
    verb = cast(Verb, import_module(module_of(name)))
    return verb.execute(parser_of(name, verb).parse_args(rest), console)


def parser_of(name: str, verb: Verb) -> argparse.ArgumentParser:
    """Return the parser of a verb's options, with the help that it prints."""
    parser = _Parser(
        prog=f"llmch {name}",
        description=_sentence(VERBS[name]),
        epilog=f"example:\n  {EXAMPLES[name]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_arguments(parser)
    add_output_arguments(parser)
    return parser


def _sentence(purpose: str) -> str:
    return f"{purpose[0].upper()}{purpose[1:]}."


def open_console_for(arguments: Sequence[str]) -> Console:
    """Return the console that the command line asks for."""
    args = output_arguments(arguments)
    secrets = secret_values(os.environ)
    return open_console(
        verbosity=_verbosity(args),
        color=Color.NEVER if args.no_color else Color.AUTO,
        output=Format.JSON if args.json else Format.TEXT,
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
        mask=lambda text: redact(text, secrets),
    )


def output_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options that say how to print, whatever else is in the command line.

    They are parsed before all others, because a usage error is printed as they say.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    add_output_arguments(parser)
    # None of these options takes a value: what holds one is another's, or an error to report.
    without_values = [each for each in arguments if not _VALUE_ATTACHED.match(each)]
    args, _ = parser.parse_known_args(without_values)
    return args


_VALUE_ATTACHED = re.compile("--[^=]+=", re.DOTALL)


def _verbosity(args: argparse.Namespace) -> Verbosity:
    if args.quiet:
        return Verbosity.QUIET
    return Verbosity.VERBOSE if args.verbose else Verbosity.NORMAL
