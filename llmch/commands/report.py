"""`llmch report`: show what carries out each requirement of the specification."""

from __future__ import annotations

import argparse
from pathlib import Path

from llmch.arguments import add_output_arguments
from llmch.console import Console
from llmch.console.figures import count
from shared.errors import ExitCode

_NONE = (
    "no requirement is named there; orders name what they cover where the specification gives "
    "ids or the plan is made with --require-coverage"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `report`."""
    parser.add_argument(
        "--coverage", type=Path, required=True, metavar="DIR",
        help="the folder of a plan, or a git repo: requirement, orders, commands, commits",
    )  # fmt: skip
    parser.add_argument(
        "--repo", type=Path, metavar="DIR", help="with a plan: the repo its orders landed in"
    )
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Print the report; 0 also where requirements are not covered."""
    from factory.requirement_commits import coverage_of_repo, landed_commits
    from llmch.coverage import coverage_document, render_coverage
    from planner.repo import open_repo
    from planner.requirement_coverage import coverage_of_plan, no_commits
    from shared.plan_folder.names import holds_plan

    if holds_plan(args.coverage):
        commits_of = landed_commits(open_repo(args.repo)).of if args.repo else no_commits
        rows = coverage_of_plan(args.coverage, commits_of)
    else:
        rows = coverage_of_repo(open_repo(args.coverage))
    document = coverage_document(rows)
    if not args.json:
        console.lines(*render_coverage(rows))
        console.remark(
            f"{document['covered']} of {count(len(rows), 'requirement')} covered" if rows else _NONE
        )
    console.result(document)
    return ExitCode.OK
