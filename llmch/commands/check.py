"""`llmch check`: judge a plan by all rules, without a model."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from llmch.arguments import add_output_arguments
from llmch.console import Console
from shared.errors import ExitCode


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
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Judge the plan; 0 where no error is left, 2 where one is."""
    from llmch.wiring import settings_for
    from planner.cli import allowed_by
    from planner.manifest_folder import read_plan_folder
    from planner.repo import open_repo
    from planner.repo_sources import RepoSources
    from planner.validation import judge

    plan = read_plan_folder(args.dir)
    allowed = allowed_by(settings_for(args, console, {}, repo=args.repo))
    if args.repo:
        git = open_repo(args.repo)
        files = git.tracked_files()
        report = judge(plan, files, RepoSources(git.folder, files), allowed=allowed)
    else:
        report = judge(plan, allowed=allowed)
    document = report.to_json()
    console.findings(_Shown(**finding) for finding in document["findings"])
    counts = (
        _counted(len(plan.drafts), "work order"),
        _counted(document["errors"], "error"),
        _counted(document["warnings"], "warning"),
    )
    console.verdict("plan", ", ".join(counts), ok=document["ok"])
    console.result(document)
    return ExitCode.OK if document["ok"] else ExitCode.INVALID


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
