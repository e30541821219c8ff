"""Declares the argument of `llmch completion`, and returns the script."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Block, Outcome, Verbatim

if TYPE_CHECKING:
    from llmch.verbs.completion.grammar import VerbGrammar

_SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class CompletionDocument:
    """Represent the answer of `completion`: the script for a shell."""

    shell: str
    script: str

    def to_json(self) -> object:
        """Return the shell and the script."""
        return {"shell": self.shell, "script": self.script}

    def blocks(self) -> Iterator[Block]:
        """Return the script as it is."""
        yield Verbatim(self.script, self.shell)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of `completion`."""
    parser.add_argument(
        "shell", choices=_SHELLS, metavar="SHELL", help=f"the shell: {', '.join(_SHELLS)}"
    )


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Write the script from the options of all verbs, as they are in this version."""
    from llmch.entry.verb_table import FIRST_OPTIONS, VERBS
    from llmch.verbs.completion.reading import read_grammar
    from shared.version import VERSION

    first = (*VERBS, *FIRST_OPTIONS)
    script = _render(args.shell)(read_grammar(), first, VERSION)
    return Outcome(CompletionDocument(args.shell, script))


def _render(shell: str) -> Callable[[Sequence[VerbGrammar], Sequence[str], str], str]:
    match shell:
        case "bash":
            from llmch.verbs.completion.bash import render_bash

            return render_bash
        case "zsh":
            from llmch.verbs.completion.zsh import render_zsh

            return render_zsh
        case _:
            from llmch.verbs.completion.fish import render_fish

            return render_fish
