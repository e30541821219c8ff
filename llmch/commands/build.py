"""`llmch build`: plan a specification and execute the plan; called again, it goes on."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from factory.cli import add_batch_arguments, add_run_arguments, run_flags, run_options
from llmch.arguments import add_model_arguments, add_output_arguments, add_record_arguments
from llmch.console import Console
from shared.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `build`."""
    parser.add_argument("--spec", type=Path, required=True, metavar="FILE", help="what to build")
    parser.add_argument("--template", type=Path, metavar="FILE", help="a prompt of your own")
    parser.add_argument("--model", metavar="M", help="the model that plans")
    parser.add_argument("--reasoning-effort", metavar="E", help="minimal, low, medium or high")
    add_batch_arguments(parser)
    add_run_arguments(parser)
    add_record_arguments(parser)
    add_model_arguments(parser)
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Plan, unless this very plan is there already, then run all its orders."""
    from factory.batch.coordinator import run_all
    from factory.preflight import find_repo, inspect_repo
    from factory.summary import public_json
    from llmch.building import plan_once
    from llmch.consent import with_consent
    from llmch.wiring import model_source, settings_for
    from planner.openai_client import PlannerModel
    from planner.run import PlanOptions, plan_document
    from shared.llm.budget import Purse

    flags = {
        **run_flags(args),
        "planner.model": args.model,
        "planner.reasoning_effort": args.reasoning_effort,
    }
    settings = settings_for(args, console, flags, repo=args.repo, spec=args.spec)
    planner_source = model_source(args, settings, settings.planner)
    factory_source = model_source(args, settings, settings.factory)
    purse = Purse(planner_source.budget)  # one budget for both
    place = find_repo(args.repo)
    inspect_repo(place)  # what the orders would be refused for is told before planning is paid for
    role = settings.planner
    plan = plan_once(
        PlanOptions(
            spec=args.spec,
            artifacts=settings.artifacts_dir,
            model=PlannerModel(role.model, role.reasoning_effort, role.max_output_tokens),
            max_attempts=settings.planner_attempts,
            repo=args.repo,
            template=args.template,
        ),
        place.common_dir,
        replace(planner_source, purse=purse),
        console,
    )
    if plan.folder is None:
        assert plan.result is not None, "without a plan on file one was asked for"
        if plan.result.error is not None:
            raise plan.result.error
        console.result(plan_document(plan.result))
        return ExitCode.INVALID
    folder, source = plan.folder, replace(factory_source, purse=purse)
    summary = with_consent(
        lambda options: run_all(folder, options, source, console),
        run_options(args, settings),
        console,
    )
    console.result(public_json(summary))
    return ExitCode.OK if summary.verdict == "PASS" else ExitCode.FAILED
