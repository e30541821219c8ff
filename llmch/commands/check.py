"""`llmch check`: judge a plan by all rules, without a model."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.arguments import add_output_arguments
from llmch.console import Console
from shared.errors import ExitCode

if TYPE_CHECKING:
    from planner.plan import Plan
    from planner.repair import Mended
    from planner.validation import Report


@dataclass(frozen=True, slots=True)
class _Shown:
    """A finding as the console takes it."""

    code: str
    severity: str
    work_order: str | None
    field: str | None
    message: str
    remedy: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `check`."""
    parser.add_argument("dir", type=Path, metavar="DIR", help="the folder of the plan")
    parser.add_argument("--repo", type=Path, metavar="DIR", help="the repo it is meant for")
    parser.add_argument(
        "--fix", action="store_true", help="mend in the files what has one certain remedy"
    )
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Judge the plan; 0 where no error is left, 2 where one is."""
    from llmch.wiring import settings_for
    from planner.cli import allowed_by
    from planner.folder_repair import rewrite_plan_folder
    from planner.manifest_folder import read_plan_folder
    from planner.repair import Mended, mend
    from planner.repo import open_repo
    from planner.repo_sources import RepoSources
    from planner.validation import judge
    from shared.interfaces.checker import TypeChecker

    plan = read_plan_folder(args.dir)
    allowed = allowed_by(settings_for(args, console, repo=args.repo))
    git = open_repo(args.repo) if args.repo else None
    files = git.tracked_files() if git else ()
    sources = RepoSources(git.folder, files) if git else {}
    with TypeChecker() as checker:

        def report(plan: Plan) -> Report:
            return judge(plan, files, sources, allowed=allowed, checker=checker)

        outcome = mend(plan, report) if args.fix else Mended(plan, report(plan))
    if outcome.fixes:
        rewrite_plan_folder(args.dir, plan, outcome.plan, files if git else None)
    _show(outcome, console)
    return ExitCode.OK if outcome.report.ok else ExitCode.INVALID


def _show(outcome: Mended, console: Console) -> None:
    document = outcome.report.to_json()
    console.remark(*(f"fixed {each.render()}" for each in outcome.fixes))
    console.findings(_Shown(**finding) for finding in document["findings"])
    counts = [
        _counted(len(outcome.plan.drafts), "work order"),
        _counted(document["errors"], "error"),
        _counted(document["warnings"], "warning"),
    ]
    if outcome.fixes:
        counts.append(f"{len(outcome.fixes)} fixed")
    console.verdict("plan", ", ".join(counts), ok=document["ok"])
    console.result({**document, "fixes": [each.to_json() for each in outcome.fixes]})


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
