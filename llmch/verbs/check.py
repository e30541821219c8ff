"""Implements `llmch check`: judges a plan by all rules, without a model."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from factory import preflight
from factory.record.runs_on_record import runs_on_record
from factory.run_flags import add_deps_argument
from llmch.ci.finding_reports import (
    FindingFiles,
    add_finding_arguments,
    finding_files,
    report_findings,
    reporting_failure,
)
from llmch.console import Console
from llmch.console.document import Block, Conclusion, Document, Outcome, Remark, Shape, assumed
from llmch.console.line import count
from llmch.entry import answers, wiring
from llmch.entry.answers import note_edited, read_edits
from llmch.entry.command_line import add_optional_repo, repo_meant
from llmch.previews.plan_preview import EXPECTS_EXEMPTION
from llmch.runs import recorded_attempts, run_report
from planner.plan import parse_plan, plan_edits
from planner.plan_flags import add_tree_argument
from planner.repo import planned_repo
from planner.rules import coverage, repair
from shared.errors import ExitCode, LlmchError
from shared.settings.settings import Settings
from shared.work_order import work_order

_CHECKED = Shape(
    "fixes=outcome.fixes",
    "edits",
    "exempt",
    "assumptions=outcome.plan.assumptions",
)


@dataclass(frozen=True, slots=True)
class CheckDocument(Document):
    """Represent the answer of `check`: the report on a plan, the fixes, and the requirements."""

    outcome: repair.RepairedPlan
    edits: tuple[plan_edits.OrderEdit, ...] = ()
    trials: Mapping[str, bool] = field(default_factory=dict)
    """Whether an order's commands failed on code that does nothing, where that is on record."""

    def to_json(self) -> object:
        rows = [
            {
                "id": each.id,
                "asserted_by": each.asserted_by,
                "fails_on_hollow_code": run_report.is_proven(each, self.trials),
            }
            for each in self.requirements
        ]
        return {**self.outcome.report.to_json(), **_CHECKED(self), "requirements": rows}

    @property
    def requirements(self) -> tuple[work_order.CoveredRequirement, ...]:
        return coverage.coverage_of_plan(self.outcome.plan)

    @property
    def exempt(self) -> tuple[str, ...]:
        """Return the orders that expect to be exempt from verification."""
        orders = (each.order for each in self.outcome.plan.drafts)
        return tuple(each.id for each in orders if each is not None and each.verify_exempt)

    def blocks(self) -> Iterator[Block]:
        report, fixes = self.outcome.report, self.outcome.fixes
        taken = "taken" if report.ok else "not taken"
        yield Remark(tuple(f"{taken}: {each.render()}" for each in self.edits))
        yield Remark(tuple(f"fixed {each.render()}" for each in fixes))
        yield from report.shown()
        yield Remark(run_report.render_assertions(self.requirements, self.trials))
        yield from assumed(self.outcome.plan.assumptions)
        if self.exempt:
            yield Remark((f"{', '.join(self.exempt)}: {EXPECTS_EXEMPTION}",))
        counts = [
            count(len(self.outcome.plan.drafts), "work order"),
            count(len(report.errors), "error"),
            count(len(report.warnings), "warning"),
        ]
        if self.edits and report.ok:
            counts.append(f"{len(self.edits)} edited")
        if fixes:
            counts.append(f"{len(fixes)} fixed")
        yield Conclusion("plan", ", ".join(counts), report.ok)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", type=Path, metavar="DIR", help="the folder of the plan")
    add_optional_repo(parser, "the repo that the plan is meant for")
    add_tree_argument(parser)
    parser.add_argument(
        "--fix", action="store_true", help="fix, on disk, the faults that have one certain remedy"
    )
    parser.add_argument(
        "--accept-edits", action="store_true",
        help="take what was edited by hand: write orders and manifest anew if no error is left",
    )  # fmt: skip
    parser.add_argument(
        "--dry-run", action="store_true",
        help="also try, in the sandbox, whether its commands and tests can run here",
    )  # fmt: skip
    add_deps_argument(parser)
    add_finding_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Judge the plan. The exit code is 0 if no error is left, and 2 if one is.

    With `--accept-edits`, nothing is written where an error is left.
    """
    targets = finding_files(args)
    with reporting_failure(args.dir, targets):
        return _judge(args, targets, console)


def _judge(args: argparse.Namespace, targets: FindingFiles, console: Console) -> Outcome:
    repo = repo_meant(args, console, "the plan is judged for an empty one")
    edits = read_edits(args.dir, repo, args.branch) if args.accept_edits else None
    plan = (
        parse_plan.parse_plan(edits.taken.document)
        if edits
        else plan_edits.read_plan_folder(args.dir)
    )
    if edits is None:
        note_edited(args.dir, console)
    settings = wiring.settings_for(args, console, repo=repo)
    tree = wiring.tree_of(args, repo, settings, console)
    with wiring.judging(args, repo, settings, tree) as judge:
        outcome = (
            repair.repair_plan(plan, judge) if args.fix else repair.RepairedPlan(plan, judge(plan))
        )
    if args.dry_run and outcome.report.ok:
        found = wiring.tried(args, repo, settings, tree, console, outcome.plan)
        outcome = replace(outcome, report=outcome.report.with_more(found))
    _write(args, edits, plan, outcome, tree)
    report_findings(args.dir, outcome.report, targets, console)
    code = ExitCode.OK if outcome.report.ok else ExitCode.INVALID
    taken = edits.taken.edits if edits else ()
    return Outcome(CheckDocument(outcome, taken, _trials(repo, settings, outcome.plan)), code)


def _trials(repo: Path | None, settings: Settings, plan: parse_plan.Plan) -> Mapping[str, bool]:
    """Return, by order, what the repo's records say of its commands on code that does nothing."""
    if repo is None:
        return {}
    orders = [each.order for each in plan.drafts if each.order is not None]
    with contextlib.suppress(LlmchError):  # a repo that no run could be in has none on record
        place = preflight.find_repo(repo)
        runs = runs_on_record(settings.artifacts_dir, place.common_dir, place.tree)
        return recorded_attempts.fail_on_hollow_code(runs, orders)
    return {}


def _write(
    args: argparse.Namespace,
    edits: answers.PlanEdits | None,
    plan: parse_plan.Plan,
    outcome: repair.RepairedPlan,
    tree: planned_repo.RepoTree,
) -> None:
    """Write what was edited and fixed; `plan` is the plan before the fixes."""
    known, verified = tree.files.paths if args.repo else None, bool(tree.verification)
    if edits is None:
        if outcome.fixes:
            repair.rewrite_plan_folder(args.dir, plan, outcome.plan, known, verified=verified)
    elif outcome.report.ok:
        orders = [each.order for each in outcome.plan.drafts if each.order is not None]
        base = planned_repo.base_tree(tree) if args.repo else None
        recorded = base.base_files(orders) if base else ()
        repair.write_edits(args.dir, edits.read, outcome.plan, known, recorded, verified=verified)
