"""Implements `llmch show`: shows what a plan will do, before anybody pays for it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Outcome
from llmch.entry.command_line import add_optional_repo, repo_meant
from shared.errors import ExitCode

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
    """Show the plan. The exit code is 2 where it could not be executed, and else 0."""
    from llmch.entry.wiring import settings_for
    from llmch.previews.preview_document import PreviewDocument, read_preview

    repo = repo_meant(args, console, "the plan is shown for an empty one")
    settings = settings_for(args, console, repo=repo)
    report = _report(args, console, repo, settings) if args.check else None
    preview = read_preview(args.dir, repo, args.branch, settings, report)
    code = ExitCode.OK if preview.executable else ExitCode.INVALID
    return Outcome(PreviewDocument(preview), code)


def _report(
    args: argparse.Namespace, console: Console, repo: Path | None, settings: Settings
) -> Report:
    from llmch.entry.wiring import history_on, tool_runner
    from planner.plan.plan_edits import read_plan_folder
    from planner.plan_flags import allowed_by
    from planner.repo.planned_repo import NO_TREE, open_tree
    from planner.rules.judge_plan import judge
    from shared.languages.language_tools import Tools

    tree = open_tree(repo, args.branch, settings.verify, console) if repo else NO_TREE
    with Tools(tool_runner(settings, repo)) as tools:
        return judge(
            read_plan_folder(args.dir),
            tree.files.paths,
            tree.files,
            allowed=allowed_by(settings),
            verification=tree.verification,
            tools=tools,
            history=history_on(args.dir, repo, args.branch),
        )
