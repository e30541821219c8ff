"""Implements `llmch reset`: ends a repo's unfinished run by force.

Artifacts, specs and commits stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory import preflight
from factory.run import recovery
from llmch.console import Console
from llmch.console.console import agrees, someone_is_there
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, plain
from llmch.console.line import count
from shared.errors import InvalidInput
from shared.llm.transcript import describe_uncertain
from shared.llm.transcript_lines import place_to_json


@dataclass(frozen=True, slots=True)
class ResetDocument(Document):
    """Represent the answer of `reset`: what was removed, and which calls may have been paid for."""

    removed: recovery.Leftovers

    def to_json(self) -> object:
        removed = self.removed
        return {
            "removed": plain((*removed.workspaces, *removed.state)),
            "uncertain_calls": [place_to_json(each) for each in removed.uncertain],
        }

    def blocks(self) -> Iterator[Block]:
        if not self.removed.any:
            yield Remark(("there is nothing to reset",))
            return
        trees = count(len(self.removed.workspaces), "working tree")
        uncertain = map(describe_uncertain, self.removed.uncertain)
        yield Remark((f"removed {trees} and the run's state", *uncertain))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Remove working trees and state. The exit code is 8 if a run is still going on."""
    place = preflight.find_repo(args.repo)
    found = recovery.find_run_leftovers(place)
    if not found.any:
        return Outcome(ResetDocument(found))
    if not args.yes:
        paths = (f"  {path}" for path in (*found.workspaces, *found.state))
        console.say(
            Paragraph(("these paths will be removed; commits, artifacts and specs stay:", *paths))
        )
        _confirm()
    return Outcome(ResetDocument(recovery.reset_repo(place)))


def _confirm() -> None:
    if not someone_is_there():
        raise InvalidInput(
            "reset asks for confirmation and needs a terminal to ask on", "pass --yes"
        )
    if not agrees("go on?"):
        raise InvalidInput("nothing was removed", "answer y, or pass --yes")
