"""Declares the argument of `llmch help`, finds the topic, and returns the answer."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Verbatim
from llmch.entry.parsing import find_verb, parser_of
from llmch.entry.verb_table import TOPICS, VERBS, render_help
from shared.errors import InvalidInput

_CODE = re.compile(r"[EW]\d{3}")


@dataclass(frozen=True, slots=True)
class HelpText:
    """Represent the answer of `help` that is the text of `--help`; of all verbs or of one."""

    verb: str | None
    text: str

    def to_json(self) -> object:
        """Return the verbs and the topics, or one verb with the text of its options."""
        if self.verb is None:
            return {"verbs": VERBS, "topics": TOPICS}
        return {"verb": self.verb, "purpose": VERBS[self.verb], "text": self.text}

    def blocks(self) -> Iterator[Block]:
        """Return the text as it is."""
        yield Verbatim(self.text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of `help`."""
    topics = ", ".join(TOPICS)
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=f"{topics}; or a verb")


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Explain a topic. The exit code is 2 where there is none of this name."""
    return Outcome(_answer(args.topic))


def _answer(name: str | None) -> Document:
    if name is None:
        return HelpText(None, render_help())
    if name in VERBS:
        return HelpText(name, parser_of(name, find_verb(name)).format_help())
    match name.lower().replace("_", "-"):
        case "exit-codes":
            from llmch.verbs.help.exit_codes import explain_exit_codes

            return explain_exit_codes()
        case "stages":
            from llmch.verbs.help.stages import explain_stages

            return explain_stages()
        case "settings":
            from llmch.verbs.help.settings import explain_settings

            return explain_settings()
        case "environment":
            from llmch.verbs.help.environment import explain_environment

            return explain_environment()
        case "sandbox":
            from llmch.verbs.help.sandbox import explain_sandbox

            return explain_sandbox()
        case "files":
            from llmch.verbs.help.files import explain_files

            return explain_files()
        case _:
            raise InvalidInput(f"there is no topic and no verb {name!r}", _hint(name))


def _hint(name: str) -> str:
    if _CODE.fullmatch(name.upper()):
        return f"`llmch explain {name.upper()}` explains rules"
    near = difflib.get_close_matches(name.lower(), (*TOPICS, *VERBS), n=2)
    if near:
        return f"did you mean {' or '.join(f'`llmch help {each}`' for each in near)}?"
    return "`llmch help` lists the topics and the verbs; `llmch explain` explains rules and stages"
