"""Implements `llmch run`: executes one work order on a repo."""

from __future__ import annotations

import argparse
from pathlib import Path

from factory.orders import read_orders
from factory.run import run_order
from llmch.ci.run_reports import reports_asked
from llmch.console import Console
from llmch.console.document import Outcome
from llmch.entry.run_orders import add_running_arguments, options_and_source, run_reported


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--work-order", type=Path, required=True, metavar="FILE", help="the order to execute"
    )
    add_running_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Run the order. The exit code is 0 if its commit landed, and 1 if it failed."""
    file = args.work_order
    reports = reports_asked(args, file)
    options, source = options_and_source(args, console, lambda: [read_orders.read_order(file)])
    return run_reported(
        lambda each: run_order.run_order(file, each, source, console), options, reports, console
    )
