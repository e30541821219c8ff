"""Implements `llmch completion`: prints a script that completes command lines in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Verbatim
from llmch.entry import answers
from llmch.entry.command_line import find_verb, parser_of
from llmch.entry.verb_table import FIRST_OPTIONS, TOPICS, VERBS
from llmch.verbs import demo
from llmch.verbs.completion_scripts import (
    Option,
    Positional,
    Value,
    VerbGrammar,
    WordSource,
    render_bash,
    render_fish,
    render_zsh,
)

_RENDERERS: Final = {"bash": render_bash, "zsh": render_zsh, "fish": render_fish}


@dataclass(frozen=True, slots=True)
class CompletionDocument(Document):
    """Represent the answer of `completion`: the script for a shell."""

    shell: str
    script: str

    def blocks(self) -> Iterator[Block]:
        yield Verbatim(self.script, self.shell)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell",
        choices=tuple(_RENDERERS),
        metavar="SHELL",
        help=f"the shell: {', '.join(_RENDERERS)}",
    )


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Write the script from the options of all verbs, as they are in this version."""
    from shared import VERSION

    first = (*VERBS, *FIRST_OPTIONS)
    script = _RENDERERS[args.shell](read_grammar(), first, VERSION)
    return Outcome(CompletionDocument(args.shell, script))


_MAX_MEANING = 90  # characters; shells show one line for each option


def read_grammar() -> tuple[VerbGrammar, ...]:
    """Return what may follow each verb, in the sequence of the verbs."""
    return tuple(map(_verb, VERBS))


def _verb(name: str) -> VerbGrammar:
    parser = parser_of(name, find_verb(name))
    actions = [each for each in parser._actions if each.help is not argparse.SUPPRESS]
    groups = [each._group_actions for each in parser._mutually_exclusive_groups]
    return VerbGrammar(
        name,
        VERBS[name],
        tuple(_option(name, each, groups) for each in actions if each.option_strings),
        tuple(_positional(name, each) for each in actions if not each.option_strings),
    )


def _option(verb: str, action: argparse.Action, groups: list[list[argparse.Action]]) -> Option:
    together = [each for group in groups if action in group for each in group]
    repeats = isinstance(action, argparse._AppendAction)
    rivals = [each for each in together if each is not action] + ([] if repeats else [action])
    return Option(
        tuple(action.option_strings),
        _meaning(action),
        None if action.nargs == 0 else _value(verb, action),
        tuple(spelling for each in rivals for spelling in each.option_strings),
    )


def _positional(verb: str, action: argparse.Action) -> Positional:
    repeats = action.nargs in ("+", "*")
    return Positional(_value(verb, action), action.nargs in ("?", "*"), repeats)


def _value(verb: str, action: argparse.Action) -> Value:
    name = str(action.metavar or action.dest.upper())
    if words := tuple(_words(verb, action)):
        return Value(name, WordSource.WORDS, words)
    kind = _KINDS.get((verb, action.dest)) or _KINDS_BY_NAME.get(name)
    if kind is None:
        kind = WordSource.FOLDER if action.type is Path else WordSource.TEXT
    return Value(name, kind)


def _words(verb: str, action: argparse.Action) -> Iterator[str]:
    if action.choices is not None:
        yield from map(str, action.choices)
    elif known := _WORDS.get((verb, action.dest)):
        yield from known()


def _codes() -> tuple[str, ...]:
    return (*answers.rule_codes(), *answers.STAGE_NAMES)


def _examples() -> tuple[str, ...]:
    return tuple(each.name for each in demo.list_examples())


# Words that no parser lists, because it would take long to collect them.
_WORDS: Final[Mapping[tuple[str, str], Callable[[], tuple[str, ...]]]] = {
    ("demo", "name"): _examples,
    ("explain", "code"): _codes,
    ("help", "topic"): lambda: (*TOPICS, *VERBS),
}
_KINDS: Final = {("diff", "attempt"): WordSource.FOLDER}
_KINDS_BY_NAME: Final = {
    "FILE": WordSource.FILE,
    "EXE": WordSource.FILE,
    "PATH": WordSource.FILE,
    "DIR": WordSource.FOLDER,
    "DIR,DIR": WordSource.FOLDER,
    "B": WordSource.BRANCH,
    "C": WordSource.BRANCH,
    "SHA": WordSource.BRANCH,
    "RUN|BRANCH": WordSource.BRANCH,
    "COMMIT|FROM..TO": WordSource.BRANCH,
}


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "") % {**vars(action), "prog": "llmch"}
    first = text.partition("; ")[0].partition(" (")[0]
    if len(first) <= _MAX_MEANING:
        return first
    return f"{first[: _MAX_MEANING - 3].rpartition(' ')[0]}..."
