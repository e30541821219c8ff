"""What every verb that runs orders does alike: reads what it is told, runs, and tells the end."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from factory.cli import run_options
from factory.options import RunOptions
from llmch.console import Console
from shared.errors import ExitCode

if TYPE_CHECKING:
    from factory.schemas import BatchSummary, RunSummary
    from shared.llm.stack import ModelSource


def options_and_source(
    args: argparse.Namespace, console: Console, read_orders: Callable[[], object]
) -> tuple[RunOptions, ModelSource]:
    """Return how orders are to be run, and where their replies come from.

    Raises what `read_orders` does before a missing key is told.
    """
    from factory.preflight import find_repo
    from llmch.wiring import inputs_first, model_source, settings_for

    settings = settings_for(args, console, repo=args.repo)
    with inputs_first(read_orders, lambda: find_repo(args.repo)):
        source = model_source(args, settings, settings.factory)
    return run_options(args, settings), source


def run_with_consent(
    run: Callable[[RunOptions], RunSummary | BatchSummary], options: RunOptions, console: Console
) -> ExitCode:
    """Run orders and print what became of them; 0 where all have landed, 1 where one failed."""
    from factory.summary import public_json
    from llmch.consent import with_consent

    summary = with_consent(run, options, console)
    console.result(public_json(summary))
    return ExitCode.OK if summary.verdict == "PASS" else ExitCode.FAILED
