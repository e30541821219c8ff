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
from planner import plan_flags
from planner.plan import plan_edits
from planner.repo import planned_repo
from planner.rules import judge_plan
from shared.errors import ExitCode
from shared.languages import language_tools

if TYPE_CHECKING:
    from planner.rules.judge_plan import Report
    from shared.settings.settings import Settings


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
    report = _report(args, console, repo, settings) if args.check else None
    preview = preview_document.read_preview(args.dir, repo, args.branch, settings, report)
    code = ExitCode.OK if preview.executable else ExitCode.INVALID
    return Outcome(preview_document.PreviewDocument(preview), code)


def _report(
    args: argparse.Namespace, console: Console, repo: Path | None, settings: Settings
) -> Report:
    tree = (
        planned_repo.open_tree(repo, args.branch, settings.verify, console)
        if repo
        else planned_repo.NO_TREE
    )
    with language_tools.Tools(wiring.tool_runner(settings, repo)) as tools:
        return judge_plan.judge(
            plan_edits.read_plan_folder(args.dir),
            tree.files.paths,
            tree.files,
            allowed=plan_flags.allowed_by(settings),
            verification=tree.verification,
            tools=tools,
            history=wiring.history_on(args.dir, repo, args.branch),
        )
