"""Implements `llmch run-all`: executes a plan's work orders on one branch."""

from __future__ import annotations

import argparse
from pathlib import Path

from factory.cli import add_batch_arguments, add_run_arguments
from llmch.console import Console
from llmch.console.document import Outcome
from llmch.entry.arguments import add_model_arguments, add_record_arguments
from llmch.entry.execution import options_and_source, run_all_with_consent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `run-all`."""
    parser.add_argument(
        "--workdir", type=Path, required=True, metavar="DIR", help="the folder of the plan"
    )
    add_batch_arguments(parser)
    add_run_arguments(parser)
    add_record_arguments(parser)
    add_model_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Run the orders. The exit code is 0 where all have landed, and 1 where one failed."""
    from factory.batch.coordinator import run_all
    from factory.orders.read import read_workdir

    folder = args.workdir
    options, source = options_and_source(args, console, lambda: read_workdir(folder))
    return run_all_with_consent(
        lambda each: run_all(folder, each, source, console), options, console
    )
