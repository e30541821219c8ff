"""Parses a command line: finds the verb, reads its options, and prints help for both."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from llmch.console import Console, Format
from llmch.console.document import Outcome
from llmch.console.stream import Stream
from llmch.entry.verb_table import EXAMPLES, VERBS, module_of
from shared.errors import InvalidInput


class Verb(Protocol):
    """Describe the functions that the module of a verb defines."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's own options."""

    def execute(self, args: argparse.Namespace, console: Console) -> Outcome:
        """Do the work and return the answer. Raises `LlmchError` where the verb cannot go on."""


class UsageError(InvalidInput):
    """Report that the command line itself is wrong."""


class VerbParser(argparse.ArgumentParser):
    """Parse arguments; raise on an error instead of exiting, so `--json` covers usage errors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"`{self.prog} --help` lists the options")

    def words_for(
        self, target: VerbParser, args: argparse.Namespace, without: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return the options in `args` that `target` knows as well, as words of a command line.

        Options with their defaults are left out, and so are those that `without` names, as in
        `--json`. Each word holds an option with its value, so no value can become an option.
        """
        known = {option for each in target._actions for option in each.option_strings}
        return tuple(
            word
            for action in self._actions
            if known.issuperset(action.option_strings)
            and not set(without).intersection(action.option_strings)
            for word in _words(action, getattr(args, action.dest, action.default))
        )

    def format_help(self) -> str:
        # Each option is listed below with its meaning, so the usage line leaves them out.
        self.usage = f"%(prog)s {self._needed()}"
        return super().format_help()

    def _needed(self) -> str:
        """Return the arguments that a command line must have."""
        parts = []
        for each in self._actions:
            value = each.metavar or each.dest.upper()
            if not each.option_strings:
                parts.append(f"[{value}]" if each.nargs == "?" else str(value))
            elif each.required:
                parts.append(f"{each.option_strings[0]} {value}")
        return " ".join([*parts, "[OPTIONS]"])

    def print_help(self, file: object = None) -> None:
        # Our own stream does not raise where the reader has gone away.
        Stream(sys.stdout).write(self.format_help())


def _words(action: argparse.Action, value: object) -> Iterator[str]:
    """Yield the words that give `value` to an option."""
    if not action.option_strings or value == action.default:
        return
    option = action.option_strings[0]
    if isinstance(value, bool):
        yield option if value else action.option_strings[-1]
    elif isinstance(value, list):
        yield from (f"{option}={each}" for each in value)
    else:
        yield f"{option}={value}"


def find_verb(name: str) -> Verb:
    """Return the verb with this name. Raises `UsageError` where no verb has it."""
    if name.startswith("-"):
        raise UsageError(
            f"{name} comes before the verb", f"the verb comes first: `llmch VERB {name}`"
        )
    if name not in VERBS:
        near = difflib.get_close_matches(name, VERBS, n=1)
        hint = f"did you mean `llmch {near[0]}`?" if near else "`llmch --help` lists the verbs"
        raise UsageError(f"there is no verb {name!r}", hint)
    return cast(Verb, import_module(module_of(name)))


def parser_of(name: str, verb: Verb) -> VerbParser:
    """Return the parser of a verb's options; the parser also prints the verb's help."""
    parser = VerbParser(
        prog=f"llmch {name}",
        description=_sentence(VERBS[name]),
        epilog=f"example:\n  {EXAMPLES[name]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_arguments(parser)
    _add_output_arguments(parser)
    return parser


def _sentence(purpose: str) -> str:
    return f"{purpose[0].upper()}{purpose[1:]}."


def output_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options that say how to print, whatever else is in the command line.

    These options are parsed before all others, because they say how a usage error is printed.
    `output_format` is then any text or `None`: the verb's own parser refuses what is no format.
    """
    parser = VerbParser(add_help=False, allow_abbrev=False)
    _add_output_arguments(parser, strict=False)
    # But for the format, none of these options takes a value. An argument with a value belongs to
    # another option, or is an error that the verb's own parser reports.
    own = [each for each in arguments if not _VALUE_ATTACHED.match(each)]
    args, _ = parser.parse_known_args(own)
    return args


def _add_output_arguments(parser: argparse.ArgumentParser, *, strict: bool = True) -> None:
    """Add the options that say how to print; every verb has the same ones.

    Where this is not `strict`, a command line may name two formats, none, or an unknown one: the
    verb's own parser refuses that later.
    """
    group = parser.add_argument_group("output")
    form = group.add_mutually_exclusive_group() if strict else group
    form.add_argument(
        "--json", dest=_FORMAT, action="store_const", const="json",
        help="print one JSON document on stdout",
    )  # fmt: skip
    form.add_argument(
        "--markdown", dest=_FORMAT, action="store_const", const="markdown",
        help="print the answer as Markdown",
    )  # fmt: skip
    form.add_argument(
        "--output-format",
        dest=_FORMAT,
        nargs=None if strict else "?",
        choices=tuple(each.value for each in Format) if strict else None,
        metavar="FORMAT",
        help="the same, with the format as a value: text, json or markdown (text)",
    )
    group.add_argument("--quiet", action="store_true", help="print the verdict and nothing else")
    group.add_argument("--verbose", action="store_true", help="print more of everything")
    group.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR works too)")


_FORMAT = "output_format"
_VALUE_ATTACHED = re.compile("--(?!output-format=)[^=]+=", re.DOTALL)
