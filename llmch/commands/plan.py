"""`llmch plan`: compile a specification into work orders."""

from __future__ import annotations

import argparse

from llmch.arguments import add_model_arguments, add_output_arguments, add_record_arguments
from llmch.console import Console
from planner.cli import add_plan_arguments, plan_options
from shared.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `plan`."""
    add_plan_arguments(parser)
    add_record_arguments(parser)
    add_model_arguments(parser)
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Compile the spec; 0 for a valid plan, 2 where E-codes are left."""
    from llmch.forecast import bound_in_words
    from llmch.wiring import inputs_first, planning_source, reviews_plan, settings_for
    from planner.run import plan_document, run_plan
    from planner.spec import read_spec

    settings = settings_for(args, console, repo=args.repo, spec=args.spec)
    review = reviews_plan(args)
    with inputs_first(lambda: read_spec(args.spec)):
        source = planning_source(args, settings, review=review)
    result = run_plan(plan_options(args, settings, review=review), source, console)
    if args.print_summary:
        console.lines((result.run_dir / "compile_summary.json").read_text("utf-8").rstrip())
    if result.error is not None:
        raise result.error
    if result.ok:
        console.remark(bound_in_words(result.work_orders, settings))
    console.result(plan_document(result))
    return ExitCode.OK if result.ok else ExitCode.INVALID
