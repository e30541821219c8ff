"""Implements `llmch report`: shows a run as a page or in short, or what covers requirements."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from factory.record import landed
from llmch.ci.run_reports import add_report_arguments, reports_asked, write_junit
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark
from llmch.console.line import count, this_program
from llmch.entry import wiring
from llmch.entry.command_line import add_optional_repo, add_record_arguments, repo_meant
from llmch.page import run_page
from llmch.runs import read_run, run_model, run_report
from planner.repo import planned_repo
from planner.rules import coverage
from shared.errors import InvalidInput
from shared.work_order import plan_folder

if TYPE_CHECKING:
    from llmch.runs.run_model import RunView
    from shared.work_order.work_order import CoveredRequirement

_NONE = (
    "no order names a requirement; orders name requirements where the specification gives them "
    "ids, or where the plan was made with --require-coverage"
)


@dataclass(frozen=True, slots=True)
class CoverageDocument(Document):
    """Represent the answer of `report --coverage`: each requirement with its orders."""

    rows: tuple[CoveredRequirement, ...]

    def to_json(self) -> object:
        return run_report.coverage_document(self.rows)

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(tuple(run_report.render_coverage(self.rows)))
        covered, wanted = run_report.count_covered(self.rows)
        text = f"{covered} of {count(wanted, 'requirement')} covered"
        if any(each.asserted_by for each in self.rows):
            text += f", {run_report.render_asserted(self.rows)}"
        yield Remark((text if self.rows else _NONE,))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", metavar="RUN|BRANCH",
        help="the run, by id, the beginning of one, or the folder of its records; or a branch, "
        "for the newest run on it (default: the latest run)",
    )  # fmt: skip
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page that shows all of the run"
    )
    add_report_arguments(parser)
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--watch", action="store_true",
        help="serve the page on this machine while the run goes on, until it ends",
    )  # fmt: skip
    parser.add_argument(
        "--coverage", type=Path, metavar="DIR",
        help="instead, for the folder of a plan, or a git repo: requirement, orders, commands, "
        "commits",
    )  # fmt: skip
    add_optional_repo(parser, "the repo of the run; with --coverage, where the orders landed")
    add_record_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Print the report. The exit code is 0, however the run ended and whatever is not covered."""
    if args.coverage is not None:
        if args.run or args.html or args.junit or args.open or args.watch:
            raise InvalidInput(
                "--coverage reports on a plan or a repo, not on a run",
                "leave out RUN, --html, --junit, --open and --watch, or --coverage",
            )
        return _coverage(args, console)
    return _run_report(args, console)


def _run_report(args: argparse.Namespace, console: Console) -> Outcome:
    if args.open and args.html is None and not args.watch:
        raise InvalidInput(
            "--open opens the page that --html writes", "name a file: --html report.html --open"
        )
    target = run_page.place_for(args.html) if args.html is not None else None
    reports = reports_asked(args)
    settings = wiring.settings_for(args, console)
    repo = None if args.no_repo else args.repo or Path()
    run: RunView = read_run.read_report(args.run, repo, settings.artifacts_dir)
    if args.watch:
        read = partial(read_run.read_report, run.run_id, repo, settings.artifacts_dir)
        run = _watched(run, read, args, console)
    write_junit(reports, run, None, console)
    if target is None and not args.watch:
        run_id = f" {shlex.quote(args.run)}" if args.run else ""
        how = f"{this_program()} report{run_id} --html report.html"
        console.remark(f"`{how}` writes a page with changes and output")
    if target is not None:
        run_page.write_page(target, run)
        if args.open and not args.watch:
            run_page.open_page(target.as_uri(), console)
    return Outcome(run_report.RunReportDocument(run, target))


def _watched(
    run: RunView, look: Callable[[], RunView], args: argparse.Namespace, console: Console
) -> RunView:
    if run.standing is not run_model.Standing.RUNNING:
        raise InvalidInput(
            f"run {run.run_id} is {run.standing}: there is nothing to watch",
            "start a run first, or leave out --watch",
        )

    def announce(address: str) -> None:
        console.say(Paragraph((f"page: {address}",)))
        if args.open:
            run_page.open_page(address, console)

    return run_page.serve_live(look, announce)


def _coverage(args: argparse.Namespace, console: Console) -> Outcome:
    if plan_folder.holds_plan(args.coverage):
        repo = repo_meant(args, console, "no commits are shown")
        git = planned_repo.open_repo(repo) if repo else None
        manifest = plan_folder.read_manifest(args.coverage)
        plan = manifest.facts if manifest else None
        commits_of = landed.landed_commits(git, plan).of if git else coverage.no_commits
        rows = coverage.coverage_of_folder(args.coverage, commits_of)
    else:
        git = planned_repo.open_repo(args.coverage)
        rows = landed.coverage_of_repo(git)
    return Outcome(CoverageDocument(landed.with_proofs_of(git, rows) if git else rows))
