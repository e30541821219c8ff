"""Implements `llmch build`: plans a specification and executes the plan.

Called again, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from factory.cli import add_batch_arguments, add_run_arguments, run_options
from factory.orders.options import RunOptions
from llmch.answers.plan import PlanDocument
from llmch.console import Console
from llmch.console.document import Outcome
from llmch.entry.arguments import add_model_arguments, add_record_arguments
from llmch.entry.execution import run_all_with_consent
from planner.cli import add_acceptance_arguments, add_planner_flags, compile_options
from shared.errors import ExitCode, InterruptedRun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `build`."""
    parser.add_argument("--spec", type=Path, required=True, metavar="FILE", help="what to build")
    parser.add_argument("--template", type=Path, metavar="FILE", help="a prompt of your own")
    parser.add_argument(
        "--anew", action="store_true", help="plan all of it, also where a plan could be followed"
    )
    add_planner_flags(parser)
    add_acceptance_arguments(parser)
    parser.add_argument(
        "--yes", action="store_true", help="execute a new plan without asking at the terminal"
    )
    add_batch_arguments(parser)
    add_run_arguments(parser)
    add_record_arguments(parser)
    add_model_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Make the plan, unless the same plan is on file already, then run all its orders."""
    from factory.batch.coordinator import run_all
    from factory.repo.preflight import find_repo
    from llmch.answers.preview import KeptPlanDocument
    from llmch.entry.plan_consent import agreed_to_execute
    from llmch.entry.predecessor import following
    from llmch.entry.wiring import (
        inputs_first,
        model_source,
        planning_source,
        reviews_plan,
        settings_for,
        tool_runner,
    )
    from llmch.preview.reading import read_preview
    from planner.known_plans import known_plan, plan_once, plan_to_follow
    from planner.spec.read import read_spec
    from shared.llm.cost.budget import SharedBudget
    from shared.llm.stack import Mode

    settings = settings_for(args, console, repo=args.repo, spec=args.spec)
    review = reviews_plan(args)
    with inputs_first(lambda: read_spec(args.spec), lambda: find_repo(args.repo)):
        planner_source = planning_source(args, settings, review=review)
        factory_source = model_source(args, settings, settings.factory)
    purse = SharedBudget(planner_source.budget)  # planner and factory share one budget
    place = find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    # Orders work from HEAD beside uncommitted changes, so their plan is made for HEAD too.
    start = args.commit_hash or ("HEAD" if args.allow_dirty else None)
    planning = replace(compile_options(args, settings, args.repo, review=review), start=start)
    known = known_plan(planning, place.common_dir)
    if known is None and not (args.anew or args.template):
        before = plan_to_follow(planning, place.common_dir)
        planning = following(planning, before, place) if before else planning
    paid = planner_source.mode is Mode.LIVE and known is None
    options = _check_first(run_options(args, settings), console, verify=paid)
    plan = plan_once(
        planning,
        place.common_dir,
        replace(planner_source, purse=purse),
        console,
        tool_runner(settings, args.repo),
    )
    if plan.folder is None:
        assert plan.result is not None, "a plan that is not on file was just asked for"
        if plan.result.error is not None:
            raise plan.result.error
        return Outcome(PlanDocument(plan.result), ExitCode.INVALID)
    folder, source = plan.folder, replace(factory_source, purse=purse)
    may_ask = source.mode is Mode.LIVE and not (args.yes or args.json or args.markdown)
    try:
        if not agreed_to_execute(
            lambda: read_preview(folder, args.repo, args.branch, settings),
            *(place.common_dir, console),
            is_new=plan.result is not None,
            may_ask=may_ask,
        ):
            return Outcome(KeptPlanDocument(folder), ExitCode.FAILED)
        return run_all_with_consent(
            lambda each: run_all(folder, each, source, console), options, console
        )
    except InterruptedRun:
        raise
    except KeyboardInterrupt as interrupt:  # before the run of the orders had begun
        raise InterruptedRun(
            "the plan is kept: the same command again begins with its orders"
        ) from interrupt


def _check_first(options: RunOptions, console: Console, *, verify: bool) -> RunOptions:
    """Raise the refusals that the orders would meet, before planning is paid for.

    Return the options to run the orders with: the user may have agreed to do without a sandbox.
    """
    from factory.run.before_plan import check_before_plan
    from llmch.entry.consent import with_consent

    def check(each: RunOptions) -> RunOptions:
        check_before_plan(each, console, verify=verify)
        return each

    return with_consent(check, options, console)
