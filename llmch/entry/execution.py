"""Does the steps that all verbs that run orders share: reads options, runs orders, reports."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from factory.cli import run_options
from factory.orders.options import RunOptions
from factory.orders.stages import Stage
from llmch.answers.orders import BatchDocument, OrderDocument
from llmch.console import Console
from llmch.console.document import Outcome
from shared.errors import ExitCode

if TYPE_CHECKING:
    from factory.orders.documents import BatchSummary, RunSummary
    from llmch.answers.pull_request import PullRequestAnswer
    from llmch.entry.reports import Reports
    from shared.llm.stack import ModelSource


def options_and_source(
    args: argparse.Namespace, console: Console, read_orders: Callable[[], object]
) -> tuple[RunOptions, ModelSource]:
    """Return the options for running orders, and the source of the model's replies.

    Where the model's key is missing and `read_orders` fails too, the error of `read_orders` is
    raised: a key would not help.
    """
    from factory.repo.preflight import find_repo
    from llmch.entry.pull_request import pushing
    from llmch.entry.wiring import inputs_first, model_source, settings_for

    settings = settings_for(args, console, repo=args.repo)
    with inputs_first(read_orders, lambda: find_repo(args.repo)):
        source = model_source(args, settings, settings.factory)
    return pushing(run_options(args, settings), args), source


def run_one_with_consent(
    run: Callable[[RunOptions], RunSummary],
    options: RunOptions,
    reports: Reports,
    console: Console,
) -> Outcome:
    """Run one order, and report the run.

    The exit code is 0 where the order landed, else 1, or 5 for the environment.
    """
    from llmch.entry.consent import with_consent
    from llmch.entry.reports import reporting

    with reporting(options, reports, console):
        summary = with_consent(run, options, console)
        request = _pull_request(summary, options, reports, console)
    return Outcome(OrderDocument(summary, request), exit_code_of(summary))


def run_all_with_consent(
    run: Callable[[RunOptions], BatchSummary],
    options: RunOptions,
    reports: Reports,
    console: Console,
) -> Outcome:
    """Run a plan, and report the run; the exit code is that of `batch_with_consent`."""
    from llmch.entry.reports import reporting

    with reporting(options, reports, console):
        return batch_with_consent(run, options, reports, console)


def batch_with_consent(
    run: Callable[[RunOptions], BatchSummary],
    options: RunOptions,
    reports: Reports,
    console: Console,
) -> Outcome:
    """Run a plan. The exit code is 0 where all orders landed, else 1, or 5 for the environment."""
    from llmch.entry.consent import with_consent

    summary = with_consent(run, options, console)
    request = _pull_request(summary, options, reports, console)
    return Outcome(BatchDocument(summary, request), exit_code_of(*summary.orders))


def _pull_request(
    summary: RunSummary | BatchSummary, options: RunOptions, reports: Reports, console: Console
) -> PullRequestAnswer | None:
    """Ask for the pull request where the command line does; return what came of it."""
    if not reports.pull_request:
        return None
    from llmch.entry.pull_request import request_pull

    return request_pull(summary, options, console)


def exit_code_of(*orders: RunSummary) -> ExitCode:
    """Return the exit code of a command that ran these orders."""
    if any(each.failure and each.failure.stage == Stage.ENVIRONMENT for each in orders):
        return ExitCode.PREFLIGHT
    return ExitCode.OK if all(each.verdict == "PASS" for each in orders) else ExitCode.FAILED
