"""Does what all verbs that run orders have in common: reads the options, runs, and reports."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from factory.cli import run_flags, run_options
from factory.options import RunOptions
from llmch.console import Console
from llmch.console.document import AlreadyShown, Block, Conclusion, Outcome, Rows
from llmch.console.figures import count, short
from shared.errors import ExitCode

if TYPE_CHECKING:
    from factory.schemas import BatchSummary, RunSummary
    from shared.llm.stack import ModelSource

_HEADINGS = ("order", "state", "attempts", "result")


@dataclass(frozen=True, slots=True)
class OrderDocument:
    """The answer of `run`."""

    summary: RunSummary

    def to_json(self) -> object:
        """Return the summary without the records of the attempts."""
        from factory.summary import public_json

        return public_json(self.summary)

    def blocks(self) -> Iterator[Block]:
        """Return how the order ended."""
        summary = self.summary
        end = Conclusion(summary.work_order, _result(summary), summary.verdict == "PASS")
        yield AlreadyShown((end,))


@dataclass(frozen=True, slots=True)
class BatchDocument:
    """The answer of `run-all`, and of `build` where there was a plan to execute."""

    summary: BatchSummary

    def to_json(self) -> object:
        """Return the summary without the records of the attempts."""
        from factory.summary import public_json

        return public_json(self.summary)

    def blocks(self) -> Iterator[Block]:
        """Return what became of each order, and of all of them."""
        summary = self.summary
        rows = tuple(
            (each.work_order, each.state, str(each.attempts), _result(each))
            for each in summary.orders
        )
        text = f"{count(len(rows), 'order')} on {summary.branch}"
        end = Conclusion("run-all", text, summary.verdict == "PASS")
        yield AlreadyShown((Rows(rows, _HEADINGS), end))


def options_and_source(
    args: argparse.Namespace, console: Console, read_orders: Callable[[], object]
) -> tuple[RunOptions, ModelSource]:
    """Return how orders are to be run, and where their replies come from.

    Raises what `read_orders` raises before a missing key is reported.
    """
    from factory.preflight import find_repo
    from llmch.wiring import inputs_first, model_source, settings_for

    settings = settings_for(args, console, run_flags(args), repo=args.repo)
    with inputs_first(read_orders, lambda: find_repo(args.repo)):
        source = model_source(args, settings, settings.factory)
    return run_options(args, settings), source


def run_one_with_consent(
    run: Callable[[RunOptions], RunSummary], options: RunOptions, console: Console
) -> Outcome:
    """Run one order; 0 where it landed, 1 where it failed."""
    from llmch.consent import with_consent

    summary = with_consent(run, options, console)
    return Outcome(OrderDocument(summary), _exit_code(summary))


def run_all_with_consent(
    run: Callable[[RunOptions], BatchSummary], options: RunOptions, console: Console
) -> Outcome:
    """Run all orders of a plan; 0 where all have landed, 1 where one failed."""
    from llmch.consent import with_consent

    summary = with_consent(run, options, console)
    return Outcome(BatchDocument(summary), _exit_code(summary))


def _exit_code(summary: RunSummary | BatchSummary) -> ExitCode:
    return ExitCode.OK if summary.verdict == "PASS" else ExitCode.FAILED


def _result(summary: RunSummary) -> str:
    if summary.failure is not None:
        return summary.failure.stage
    return short(summary.commit) if summary.commit else ""
