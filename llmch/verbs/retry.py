"""Implements `llmch retry`: makes one order of a plan again, with a hint for the model."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from factory import preflight
from factory.batch import decide
from factory.proposal import prompt_parts
from factory.run_flags import run_options
from llmch.ci.run_reports import reports_asked
from llmch.console import Console
from llmch.console.document import Outcome
from llmch.entry import command_line, wiring
from llmch.entry.run_orders import add_running_arguments, run_reported
from shared.files import secret_values


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command_line.add_order_argument(parser)
    parser.add_argument(
        "--hint", metavar="TEXT",
        help="what the model should know, at most 4,000 characters; it stays until the order has "
        'landed or another hint is given, and "" takes it back',
    )  # fmt: skip
    add_running_arguments(parser, pull_request=False)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Make the order. The exit code is 0 if its commit is on the branch, and 1 if it failed.

    An order that has landed is left alone.
    """
    reports = reports_asked(args)
    hint = (
        None
        if args.hint is None
        else prompt_parts.parse_hint(args.hint, secret_values.secret_values(os.environ))
    )
    settings = wiring.settings_for(args, console, repo=args.repo)
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    plan, name = command_line.order_asked_for(args, place)
    source = wiring.source_if_any(args, settings)
    asks = plan.named(name).order.asks_model
    if source.missing and asks and name not in plan.landed(place.git, place.common_dir):
        raise source.missing
    options = run_options(args, settings)
    plan, options = command_line.as_in_the_latest_run(args, plan, options, place, console)
    reports = replace(reports, plan=plan.path)
    return run_reported(
        lambda each: decide.retry_order(plan, name, hint, place, each, source, console),
        options,
        reports,
        console,
    )
