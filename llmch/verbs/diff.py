"""Implements `llmch diff`: shows what an attempt changed, or how two plans differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory import preflight
from factory.record import runs_on_record
from factory.workbench import tree
from llmch.console import Console, Format
from llmch.console.document import Block, Document, Outcome, Paragraph, Patch, Remark, Rows, Shape
from llmch.console.line import count
from llmch.entry import wiring
from llmch.entry.command_line import (
    add_attempt_arguments,
    attempt_asked_for,
    lies_in_repo,
    two_plans,
)
from llmch.previews import plan_difference, preview_document
from shared.errors import InvalidInput
from shared.git import client, trees


@dataclass(frozen=True, slots=True)
class DiffDocument(Document):
    """Represent the answer of `diff`: an attempt, its patch, and how much it changed.

    `files` is empty if the patch itself is shown.
    """

    shape = Shape(
        "run_id=attempt.run.run_id",
        "work_order=attempt.order",
        "attempt=attempt.number",
        "passed=attempt.passed",
        "stage=attempt.brief.stage",
        "base=attempt.baseline?",
        "files",
        "patch",
    )

    attempt: runs_on_record.AttemptOnRecord
    patch: str
    files: tuple[client.PatchedFile, ...]
    stat: bool

    def blocks(self) -> Iterator[Block]:
        yield Remark((f"# {self.attempt.describe()}: {_outcome(self.attempt)}",))
        if self.attempt.proposal is None and not self.patch:
            yield from _nothing(self.attempt)
        elif not self.patch:
            yield Paragraph(("the attempt proposed the files as they were: nothing changed",))
        elif self.stat:
            yield Rows(tuple((each.path, *_figures(each)) for each in self.files))
            added = sum(each.added or 0 for each in self.files)
            removed = sum(each.removed or 0 for each in self.files)
            total = f"{count(len(self.files), 'file')} changed, {count(added, 'line')} added, "
            yield Remark((f"{total}{removed} removed",))
        else:
            yield Patch(self.patch)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_attempt_arguments(
        parser, "; or two plans' folders, which are compared; without words, the last"
    )
    parser.add_argument(
        "--stat", action="store_true", help="print the number of changed lines for each file"
    )


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Print what an attempt changed, or how plans differ. The exit code is 0, also for nothing."""
    if plans := two_plans(args.attempt):
        return Outcome(_compared(*plans, args))
    place = preflight.find_repo(args.repo)
    attempt = attempt_asked_for(args, wiring.settings_for(args, console, repo=args.repo), place)
    patch = tree.patch_of_attempt(place.git, attempt)
    counted = args.stat or args.output_format == Format.JSON
    files = trees.files_in(place.git, patch) if counted else ()
    return Outcome(DiffDocument(attempt, patch.decode("utf-8", "replace"), files, args.stat))


def _compared(
    before: Path, after: Path, args: argparse.Namespace
) -> plan_difference.PlanDifferenceDocument:
    """Return how two plans differ, and which of their orders have landed where a repo is known."""
    if args.stat:
        raise InvalidInput(
            "--stat is for the change of an attempt", "leave it out to compare plans"
        )
    # The default is the current folder, which need not be in a repo.
    known = args.repo != Path() or lies_in_repo(args.repo)
    repo = args.repo if known else None
    return plan_difference.PlanDifferenceDocument(
        before, after, preview_document.read_difference(before, after, repo)
    )


def _outcome(attempt: runs_on_record.AttemptOnRecord) -> str:
    if attempt.brief:
        return f"rejected, {attempt.brief.stage}"
    return "passed" if attempt.passed else "it was cut off"


def _nothing(attempt: runs_on_record.AttemptOnRecord) -> Iterator[Block]:
    brief = attempt.brief
    stage = f": {brief.stage}" if brief else ""
    excerpt = brief.primary_error_excerpt.splitlines() if brief else ()
    yield Paragraph((f"the attempt proposed nothing{stage}", *(f"  | {each}" for each in excerpt)))


def _figures(file: client.PatchedFile) -> tuple[str, str]:
    if file.added is None or file.removed is None:
        return "binary", ""
    return f"+{file.added}", f"-{file.removed}"
