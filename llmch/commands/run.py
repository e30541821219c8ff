"""`llmch run`: execute one work order on a repo."""

from __future__ import annotations

import argparse
from pathlib import Path

from factory.cli import add_run_arguments, run_flags, run_options
from llmch.arguments import add_model_arguments, add_output_arguments, add_record_arguments
from llmch.console import Console
from shared.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `run`."""
    parser.add_argument(
        "--work-order", type=Path, required=True, metavar="FILE", help="the order to execute"
    )
    add_run_arguments(parser)
    add_record_arguments(parser)
    add_model_arguments(parser)
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Run the order; 0 where its commit landed, 1 where it failed."""
    from factory.orders import read_order
    from factory.preflight import find_repo
    from factory.run import run_order
    from factory.summary import public_json
    from llmch.consent import with_consent
    from llmch.wiring import inputs_first, model_source, settings_for

    settings = settings_for(args, console, run_flags(args), repo=args.repo)
    with inputs_first(lambda: read_order(args.work_order), lambda: find_repo(args.repo)):
        source = model_source(args, settings, settings.factory)
    summary = with_consent(
        lambda options: run_order(args.work_order, options, source, console),
        run_options(args, settings),
        console,
    )
    console.result(public_json(summary))
    return ExitCode.OK if summary.verdict == "PASS" else ExitCode.FAILED
