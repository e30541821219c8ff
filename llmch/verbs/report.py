"""Implements `llmch report`: shows what carries out each requirement of the specification."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Block, Outcome, Paragraph, Remark
from llmch.console.figures import count
from llmch.entry.repo_argument import add_optional_repo, repo_meant

if TYPE_CHECKING:
    from shared.work_order.coverage import CoveredRequirement

_NONE = (
    "no order names a requirement; orders name requirements where the specification gives them "
    "ids, or where the plan was made with --require-coverage"
)


@dataclass(frozen=True, slots=True)
class CoverageDocument:
    """Represent the answer of `report --coverage`: each requirement with its orders."""

    rows: tuple[CoveredRequirement, ...]

    def to_json(self) -> object:
        """Return the requirements and the number of covered ones as plain values."""
        from llmch.answers.coverage import coverage_document

        return coverage_document(self.rows)

    def blocks(self) -> Iterator[Block]:
        """Return each requirement with its orders, and the number of covered ones."""
        from llmch.answers.coverage import count_covered, render_asserted, render_coverage

        yield Paragraph(tuple(render_coverage(self.rows)))
        covered, wanted = count_covered(self.rows)
        text = f"{covered} of {count(wanted, 'requirement')} covered"
        if any(each.asserted_by for each in self.rows):
            text += f", {render_asserted(self.rows)}"
        yield Remark((text if self.rows else _NONE,))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `report`."""
    parser.add_argument(
        "--coverage", type=Path, required=True, metavar="DIR",
        help="the folder of a plan, or a git repo: requirement, orders, commands, commits",
    )  # fmt: skip
    add_optional_repo(parser, "with a plan: the repo where its orders landed")


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Print the report. The exit code is 0, even where requirements are not covered."""
    from factory.record.requirement_commits import coverage_of_repo, landed_commits, with_proofs_of
    from planner.judging.requirement_coverage import coverage_of_folder, no_commits
    from planner.repo.tracked import open_repo
    from shared.plan_folder.names import holds_plan
    from shared.plan_folder.read import read_manifest

    if holds_plan(args.coverage):
        repo = repo_meant(args, console, "no commits are shown")
        git = open_repo(repo) if repo else None
        manifest = read_manifest(args.coverage)
        plan = manifest.facts if manifest else None
        commits_of = landed_commits(git, plan).of if git else no_commits
        rows = coverage_of_folder(args.coverage, commits_of)
    else:
        git = open_repo(args.coverage)
        rows = coverage_of_repo(git)
    return Outcome(CoverageDocument(with_proofs_of(git, rows) if git else rows))
