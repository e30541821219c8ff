"""Implements `llmch show`: shows what a plan will do, before anybody pays for it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Outcome
from llmch.entry import wiring
from llmch.entry.command_line import add_optional_repo, repo_meant
from llmch.previews import preview_document
from planner.plan import plan_edits
from shared.errors import ExitCode

if TYPE_CHECKING:
    pass


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", type=Path, metavar="DIR", help="the folder of the plan")
    add_optional_repo(parser, "the repo that the plan is meant for")
    parser.add_argument(
        "--branch", metavar="B",
        help="the branch that the orders land on (default: the one that `run-all` chooses)",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true",
        help="judge the plan by all rules too, as `check` does, which may start a type checker",
    )  # fmt: skip


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Show the plan. The exit code is 2 if it could not be executed, and else 0."""
    repo = repo_meant(args, console, "the plan is shown for an empty one")
    settings = wiring.settings_for(args, console, repo=repo)
    report = None
    if args.check:
        tree = wiring.tree_of(args, repo, settings, console)
        with wiring.judging(args, repo, settings, tree) as judge:
            report = judge(plan_edits.read_plan_folder(args.dir))
    preview = preview_document.read_preview(args.dir, repo, args.branch, settings, report)
    code = ExitCode.OK if preview.executable else ExitCode.INVALID
    return Outcome(preview_document.PreviewDocument(preview), code)
