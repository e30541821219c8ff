"""Implements `llmch build`: plans a specification and executes the plan.

Called again, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from factory import preflight
from factory.batch import batch
from factory.orders.read_orders import read_workdir
from factory.orders.task import RunOptions
from factory.run_flags import add_batch_arguments, installs, run_options
from llmch.ci.finding_reports import annotate_spec
from llmch.ci.pull_requests import pushing
from llmch.ci.run_reports import Reports, reporting, reports_asked
from llmch.console import Console, Format
from llmch.console.console import someone_is_there
from llmch.console.document import Outcome
from llmch.entry import issue_specs, issue_work, run_orders, wiring
from llmch.entry.answers import PlanDocument
from llmch.previews import plan_overlaps, preview_document
from llmch.previews.plan_difference import changed_requirements
from llmch.verbs import plan as plan_verb
from planner import known_plans, run_plan
from planner.compile import inputs
from planner.plan_flags import add_acceptance_arguments, add_planner_flags, compile_options
from planner.spec import read_spec
from planner.spec.spec_folders import spec_place
from shared.errors import ExitCode, InterruptedRun, InvalidInput
from shared.events.events import ignore
from shared.llm import stack
from shared.work_order import plan_folder

if TYPE_CHECKING:
    from shared.settings.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    issue_specs.add_spec_arguments(parser, event=True)
    parser.add_argument("--template", type=Path, metavar="FILE", help="a prompt of your own")
    parser.add_argument(
        "--anew", action="store_true", help="plan all of it, also where a plan could be followed"
    )
    add_planner_flags(parser)
    add_acceptance_arguments(parser)
    plan_verb.add_question_arguments(parser)
    parser.add_argument(
        "--yes",
        action="store_true",
        help="execute a new plan without asking; needed where no terminal is",
    )
    add_batch_arguments(parser)
    run_orders.add_running_arguments(parser)


@dataclass(frozen=True, slots=True)
class _BuildContext:
    settings: Settings
    reports: Reports
    place: preflight.RepoPlace
    planner: stack.ModelSource
    factory: stack.ModelSource


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Make the plan, unless the same plan is on file already, then run all its orders."""
    if args.event is not None:
        return issue_work.work_on_event(args, console, _EventMaker(args, console))
    if args.llm == stack.Mode.LIVE and not (args.yes or someone_is_there()):
        raise InvalidInput(
            "nobody is at a terminal to say yes to the plan",
            "--yes executes it without asking; nothing was paid",
        )
    args.spec = args.spec and spec_place(args.spec)
    ground = _ground(args, console)
    planning = _planning(args, ground)
    known = known_plans.known_plan(planning, ground.place.common_dir)
    is_paid = ground.planner.mode is stack.Mode.LIVE and known is None
    options = pushing(run_options(args, ground.settings), args)
    run_orders.check_key(
        ground.planner,
        lambda: read_workdir(known) if known else (),
        *(ground.place.git, options.branch),
    )
    with reporting(options, ground.reports, console):
        options = run_orders.check_first(options, console, verify=is_paid)
        return _plan_and_run(planning, options, args, ground, console)


class _EventMaker:
    """Plan and run for an event: the person who may has agreed by a label or a comment."""

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        self._args, self._console = args, console
        args.yes, args.pr, args.ask = True, True, False

    @cached_property
    def _ground(self) -> _BuildContext:
        ground = _ground(self._args, self._console)
        run_orders.check_key(ground.planner, tuple, ground.place.git, None)
        return ground

    def plan(self, spec: Path, before: Path | None, branch: str) -> run_plan.PlanResult:
        args = self._args
        args.spec, args.branch = spec, branch
        ground = self._ground
        planning = _compile_options(args, ground)
        if before is not None:
            planning = wiring.following(planning, before, ground.place)
        return known_plans.plan_anew(
            *(planning, ground.place.common_dir, ground.planner, self._console),
            wiring.tool_runner(ground.settings, args.repo),
            wiring.trial_runner(ground.settings, planning),
        )

    def run(self, plan: Path, branch: str, issue: int) -> Outcome:
        args, ground = self._args, self._ground
        args.branch = branch
        options = pushing(run_options(args, ground.settings), args)
        reports = replace(ground.reports, pull_request=True, closes=issue)
        return run_orders.run_reported(
            lambda each: batch.run_all(plan, each, ground.factory, self._console),
            *(options, reports, self._console),
        )


def _plan_and_run(
    planning: inputs.PlanOptions,
    options: RunOptions,
    args: argparse.Namespace,
    ground: _BuildContext,
    console: Console,
) -> Outcome:
    plan = _planned(planning, args, ground, console)
    if plan.folder is not None:
        plan = _answered(plan, plan.folder, planning, args, ground, console)
    if plan.folder is not None:
        return _run_plan(plan.folder, plan.result, options, args, ground, console)
    assert plan.result is not None, "a plan that is not on file was just asked for"
    if plan.result.error is not None:
        raise plan.result.error
    annotate_spec(args.spec, plan.result.report, console)
    return Outcome(PlanDocument(plan.result), ExitCode.INVALID)


def _planned(
    planning: inputs.PlanOptions, args: argparse.Namespace, ground: _BuildContext, console: Console
) -> known_plans.BuildPlan:
    runner = wiring.tool_runner(ground.settings, args.repo)
    trial = wiring.trial_runner(ground.settings, planning)
    asked = (
        plan_verb.asking(planning, args, console),
        ground.place.common_dir,
        ground.planner,
        console,
    )
    if known_plans.known_plan(planning, ground.place.common_dir) is None:
        plan_overlaps.warn_before_plan(planning, console)
    return known_plans.plan_once(*asked, runner, trial)


def _answered(
    plan: known_plans.BuildPlan,
    folder: Path,
    planning: inputs.PlanOptions,
    args: argparse.Namespace,
    ground: _BuildContext,
    console: Console,
) -> known_plans.BuildPlan:
    """Ask what the plan in `folder` leaves open; return the plan that has the answers.

    Nobody is asked once the plan has begun. Raises `InvalidInput` where `--strict-spec` says so.
    """
    common_dir = ground.place.common_dir
    found = plan_folder.read_manifest(folder)
    stated = found.facts.assumptions if found is not None and found.facts is not None else ()
    if stated and plan_verb.may_ask(args):
        preview = preview_document.read_preview(folder, args.repo, args.branch, ground.settings)
        is_asked = plan.result is not None or not run_orders.has_begun(preview, common_dir)
        goes_on = "the same command again asks the rest"
        if is_asked and any(plan_verb.ask_open(args.spec, stated, console, goes_on)):
            following = wiring.following(replace(planning, staged=None), folder, ground.place)
            plan = _planned(following, args, ground, console)
            stated = plan.result.assumptions if plan.result is not None else ()
        elif is_asked:  # the answers belong to the specification now, and the plan has them
            known_plans.remember_plan(known_plans.plan_identity(planning), folder, common_dir)
    if args.strict_spec and plan.folder is not None:
        plan_verb.refuse_contradictions(args.spec, stated, plan.folder)
    return plan


def _ground(args: argparse.Namespace, console: Console) -> _BuildContext:
    reports = reports_asked(args)
    # An event's settings are told of already, and its specification is beside none of a person's.
    emit, spec = (console, args.spec) if args.event is None else (ignore, None)
    settings = wiring.settings_for(args, emit, repo=args.repo, spec=spec)
    if args.event is not None and settings.max_tokens is None and settings.max_cost is None:
        settings = replace(settings, max_tokens=settings.issue.max_tokens)
    issue_specs.take_issue(args, settings, console)
    sources = wiring.sources_of_both(args, settings, review=wiring.reviews_plan(args))
    if sources[0].missing and args.spec:
        read_spec.read_spec(args.spec)  # a key would not help against a fault of it
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    return _BuildContext(settings, reports, place, *sources)


def _compile_options(args: argparse.Namespace, ground: _BuildContext) -> inputs.PlanOptions:
    review, prepares = wiring.reviews_plan(args), installs(args, args.repo)
    return compile_options(args, ground.settings, args.repo, review=review, installs=prepares)


def _planning(args: argparse.Namespace, ground: _BuildContext) -> inputs.PlanOptions:
    """Return the options to plan with: after the repo's last plan, where the spec follows it."""
    # Orders work from HEAD beside uncommitted changes, so their plan is made for HEAD too.
    start = args.commit_hash or ("HEAD" if args.allow_dirty else None)
    options = replace(_compile_options(args, ground), start=start)
    common_dir = ground.place.common_dir
    if args.anew or args.template or known_plans.known_plan(options, common_dir) is not None:
        return options
    before = known_plans.plan_to_follow(options, common_dir)
    return wiring.following(options, before, ground.place) if before else options


def _run_plan(
    folder: Path,
    made: run_plan.PlanResult | None,
    options: RunOptions,
    args: argparse.Namespace,
    ground: _BuildContext,
    console: Console,
) -> Outcome:
    """Run the orders of the plan in `folder`, if whoever is at the terminal agrees.

    `made` is the result of the planning, `None` if the plan was on file.
    """
    source = ground.factory
    plan_overlaps.warn_before_run(folder, options, console)
    silent = args.yes or args.output_format in (Format.JSON, Format.MARKDOWN)
    if made is not None and made.change is not None:
        console.say(*changed_requirements(made.change.task.difference))
    try:
        if not run_orders.agreed_to_execute(
            lambda: preview_document.read_preview(folder, args.repo, args.branch, ground.settings),
            *(ground.place.common_dir, console),
            is_new=made is not None,
            may_ask=source.mode is stack.Mode.LIVE and not silent,
        ):
            return Outcome(preview_document.KeptPlanDocument(folder), ExitCode.FAILED)
        return run_orders.run_with_consent(
            lambda each: batch.run_all(folder, each, source, console),
            options,
            ground.reports,
            console,
        )
    except InterruptedRun:
        raise
    except KeyboardInterrupt as interrupt:  # before the run of the orders had begun
        raise InterruptedRun(
            "the plan is kept: the same command again begins with its orders"
        ) from interrupt
