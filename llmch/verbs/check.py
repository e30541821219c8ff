"""Implements `llmch check`: judges a plan by all rules, without a model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.answers.plan import rule_findings
from llmch.console import Console
from llmch.console.document import Block, Conclusion, Outcome, Remark
from llmch.console.figures import count
from llmch.entry.repo_argument import add_optional_repo, repo_meant
from planner.cli import add_tree_argument
from shared.errors import ExitCode

if TYPE_CHECKING:
    from planner.judging.validation import Report
    from planner.plan.plan import Plan
    from planner.repair.repair import Mended
    from shared.work_order.coverage import CoveredRequirement


@dataclass(frozen=True, slots=True)
class CheckDocument:
    """Represent the answer of `check`: the report on a plan, the fixes, and the requirements."""

    outcome: Mended

    def to_json(self) -> object:
        """Return the report, the fixes and the requirements as plain values."""
        fixes = [each.to_json() for each in self.outcome.fixes]
        asserted = [{"id": each.id, "asserted_by": each.asserted_by} for each in self.requirements]
        report = self.outcome.report.to_json()
        return {**report, "fixes": fixes, "requirements": asserted}

    @property
    def requirements(self) -> tuple[CoveredRequirement, ...]:
        """Return the plan's requirements, each with the orders that carry it out."""
        from planner.judging.requirement_coverage import coverage_of_plan

        return coverage_of_plan(self.outcome.plan)

    def blocks(self) -> Iterator[Block]:
        """Return the fixes, the findings, what asserts each requirement, and the verdict."""
        from llmch.answers.coverage import render_assertions

        report, fixes = self.outcome.report, self.outcome.fixes
        yield Remark(tuple(f"fixed {each.render()}" for each in fixes))
        yield from rule_findings(report)
        yield Remark(render_assertions(self.requirements))
        counts = [
            count(len(self.outcome.plan.drafts), "work order"),
            count(len(report.errors), "error"),
            count(len(report.warnings), "warning"),
        ]
        if fixes:
            counts.append(f"{len(fixes)} fixed")
        yield Conclusion("plan", ", ".join(counts), report.ok)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `check`."""
    parser.add_argument("dir", type=Path, metavar="DIR", help="the folder of the plan")
    add_optional_repo(parser, "the repo that the plan is meant for")
    add_tree_argument(parser)
    parser.add_argument(
        "--fix", action="store_true", help="fix, on disk, the faults that have one certain remedy"
    )


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Judge the plan. The exit code is 0 where no error is left, and 2 where one is."""
    from llmch.entry.wiring import settings_for, tool_runner
    from planner.cli import allowed_by
    from planner.judging.validation import judge
    from planner.plan.folder import read_plan_folder
    from planner.repair.folder import rewrite_plan_folder
    from planner.repair.repair import Mended, mend
    from planner.repo.tracked import NO_TREE, open_tree
    from shared.languages.capabilities.tools import Tools

    plan = read_plan_folder(args.dir)
    repo = repo_meant(args, console, "the plan is judged for an empty one")
    settings = settings_for(args, console, repo=repo)
    allowed = allowed_by(settings)
    tree = open_tree(repo, args.branch, settings.verify, console) if repo else NO_TREE
    files, verification = tree.files.paths, tree.verification
    with Tools(tool_runner(settings, repo)) as tools:

        def report(plan: Plan) -> Report:
            return judge(
                plan, files, tree.files, allowed=allowed, verification=verification, tools=tools
            )

        outcome = mend(plan, report) if args.fix else Mended(plan, report(plan))
    if outcome.fixes:
        known = files if args.repo else None
        rewrite_plan_folder(args.dir, plan, outcome.plan, known, verified=bool(verification))
    return Outcome(CheckDocument(outcome), ExitCode.OK if outcome.report.ok else ExitCode.INVALID)
