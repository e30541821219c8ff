"""Implements `llmch report`: shows a run as a page or in short, or what covers requirements."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from factory.batch.decide import plan_on_branch
from factory.landing.land import Landing, land_content
from factory.orders.order_commit import AS_REPOSITORY, describe_ticks
from factory.preflight import find_repo, hold, refuse_name
from factory.record import landed
from factory.run.run_request import commit_terms, place_option
from llmch.ci.run_reports import add_report_arguments, reports_asked, write_junit
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, Shape
from llmch.console.line import count, this_program
from llmch.entry import wiring
from llmch.entry.command_line import add_optional_repo, add_record_arguments, repo_meant
from llmch.page import run_page
from llmch.runs import read_run, run_model, run_report
from llmch.verbs import drift
from planner.replan.predecessor import carried_out, read_predecessor
from planner.repo import planned_repo
from planner.rules import coverage
from planner.spec.read_spec import names_in, read_spec
from planner.spec.spec_folders import (
    TaskOutlook,
    TaskState,
    find_spec_folder,
    judge_tasks,
    parse_tasks,
    tick,
)
from shared.errors import InvalidInput
from shared.events.run_record import new_run_id
from shared.git import trees
from shared.git.refs import tip_of_branch
from shared.work_order import plan_folder

if TYPE_CHECKING:
    from llmch.runs.run_model import RunView
    from planner.spec.spec_folders import SpecFolder
    from shared.git.client import Git
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
    parser.add_argument(
        "--tick", type=Path, metavar="DIR",
        help="with --coverage PLAN: tick the tasks of the specification in DIR whose requirements "
        "have landed, in a commit on the plan's branch, or on BRANCH",
    )  # fmt: skip
    add_optional_repo(parser, "the repo of the run; with --coverage, where the orders landed")
    add_record_arguments(parser)


@dataclass(frozen=True, slots=True)
class TicksDocument(Document):
    """Represent the answer of `report --tick`: what became of each task, and the commit."""

    shape = Shape(
        "branch", "file", "commit?", "ticked", "tasks=outlooks",
        tasks=Shape("line=task.line", "text=task.text", "state", "names"),
    )  # fmt: skip

    branch: str
    file: str
    commit: str
    outlooks: tuple[TaskOutlook, ...]

    @property
    def ticked(self) -> int:
        return sum(each.state is TaskState.TICKED for each in self.outlooks)

    def blocks(self) -> Iterator[Block]:
        left = [each for each in self.outlooks if each.reason]
        told = [*(e for e in self.outlooks if e.state is TaskState.TICKED), *left[:_MOST_LEFT]]
        yield Paragraph(
            tuple(
                f"{'[ ]' if each.reason else '[x]'} line {each.task.line}  {each.task.text[:80]}"
                + (f"  ({each.reason})" if each.reason else "")
                for each in told
            )
        )
        more = f", {len(left)} left" if left else ""
        where = f" in {self.commit[:10]} on {self.branch}" if self.commit else ""
        yield Remark((f"{count(self.ticked, 'task')} of {self.file} ticked{where}{more}",))


_MOST_LEFT = 20  # shown; the JSON document has all


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Print the report. The exit code is 0, however the run ended and whatever is not covered."""
    if args.coverage is not None:
        if args.tick is not None:
            return _tick(args, console)
        if args.run or args.html or args.junit or args.open or args.watch:
            raise InvalidInput(
                "--coverage reports on a plan or a repo, not on a run",
                "leave out RUN, --html, --junit, --open and --watch, or --coverage",
            )
        return _coverage(args, console)
    if args.tick is not None:
        raise InvalidInput(
            "--tick needs the plan whose orders landed", "name its folder with --coverage PLAN"
        )
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
    for line in drift.moved_on(args, repo, run.branch) if repo and run.branch else ():
        console.remark(line)
    if target is None and not args.watch:
        run_id = f" {shlex.quote(args.run)}" if args.run else ""
        place = place_option(repo) if repo is not None else " --no-repo"
        how = f"{this_program()} report{run_id} --html report.html{place}"
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


def _tick(args: argparse.Namespace, console: Console) -> Outcome:
    """Tick what has landed. The exit code is 0, also where nothing is left to tick."""
    if args.html or args.junit or args.open or args.watch:
        raise InvalidInput("--tick changes tasks, and reports no run", "leave the other flags out")
    settings = wiring.settings_for(args, console, repo=args.repo)
    place = find_repo(args.repo or Path())
    plan = plan_on_branch(place, args.coverage, args.run)
    refuse_name(place.git, plan.branch, settings.protected_branches)
    spec, folder = read_spec(args.tick), find_spec_folder(args.tick)
    file = _file_in(place.tree, folder)
    with hold(place.common_dir):
        tip = tip_of_branch(place.git, plan.branch)
        text = _text_at(place.git, tip, plan.branch, file)
        before = read_predecessor(args.coverage, plan.landed(place.git, place.common_dir))
        outlooks = judge_tasks(parse_tasks(text), names_in(folder, spec), carried_out(before, spec))
        ticked = [each for each in outlooks if each.state is TaskState.TICKED]
        commit = ""
        if ticked:
            terms = commit_terms(place.git, settings.commit, None)
            if terms.subject == AS_REPOSITORY:
                terms = replace(terms, subject=landed.style_of(place.git, tip))
            facts = describe_ticks(_title(ticked, file), file, terms)
            landing = Landing(place.git, place.common_dir, plan.branch, new_run_id())
            commit = land_content(landing, tip, file, tick(text, outlooks).encode(), facts)
    return Outcome(TicksDocument(plan.branch, file, commit, outlooks))


def _file_in(tree: Path, folder: SpecFolder) -> str:
    """Return the path of the list of tasks in the repo's tree."""
    if folder.tasks is None:
        raise InvalidInput(
            f"spec {folder.folder} has no list of tasks", "name the folder of a feature or a change"
        )
    tasks = folder.tasks.resolve()
    if not tasks.is_relative_to(tree.resolve()):
        raise InvalidInput(f"{folder.tasks} is not in the repo {tree}", "name it with --repo")
    return tasks.relative_to(tree.resolve()).as_posix()


def _text_at(git: Git, tip: str, branch: str, file: str) -> str:
    """Return the text of a file at the tip of a branch. Raises `InvalidInput` if it has none."""
    if not tip:
        raise InvalidInput(
            f"there is no branch {branch!r}, so nothing of the plan has landed on it",
            "run the plan first, or name another branch: `report BRANCH --coverage PLAN --tick`",
        )
    entry = trees.entries_of(git, tip, (file,)).get(file)
    if entry is None or entry.mode not in _FILES:
        inside = next((e for e in trees.submodules_of(git, tip) if file.startswith(f"{e}/")), "")
        raise InvalidInput(
            f"branch {branch!r} has no file {file}"
            + (f": {inside} is a submodule" if inside else ""),
            "commit the folder of the specification there",
        )
    try:
        return (trees.content_of(git, tip, file) or b"").decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} on {branch!r} is not UTF-8", "save it as UTF-8") from error


_FILES = ("100644", "100755")


def _title(ticked: Sequence[TaskOutlook], file: str) -> str:
    name = PurePosixPath(file).parent.name
    names = [each.task.text.split()[0].rstrip(".") for each in ticked[:_MOST_NAMED]]
    more = f" and {len(ticked) - _MOST_NAMED} more" if len(ticked) > _MOST_NAMED else ""
    return f"Tick {', '.join(names)}{more} of {name}"


_MOST_NAMED = 6


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
