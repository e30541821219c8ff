"""Reports a run to the CI system that it runs in: as JUnit, annotations, and the job's summary."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.workflow_commands import runs_in_actions
from shared.errors import LlmchError
from shared.events.messages import Noted, Warned
from shared.secrets.redaction import masking

if TYPE_CHECKING:
    from factory.orders.options import RunOptions
    from llmch.run_view.model.run import RunView


@dataclass(frozen=True, slots=True)
class Reports:
    """Say which reports a run is to leave.

    `junit` is the file for JUnit, and `plan` the folder of the plan, or the file of one order;
    `None` for none. `pull_request` says that the run's branch is to get one.
    """

    junit: Path | None = None
    plan: Path | None = None
    pull_request: bool = False


def add_report_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the flags that have a run reported to a CI system, and return their group."""
    group = parser.add_argument_group("reports")
    group.add_argument(
        "--junit", type=Path, metavar="FILE",
        help="write the run in the XML format of JUnit: a suite for each order, a case for each "
        "command",
    )  # fmt: skip
    return group


def reports_asked(args: argparse.Namespace, plan: Path | None = None) -> Reports:
    """Return the reports that the command line asks for.

    Raises `InvalidInput` where a file cannot be written, before anything is done.
    """
    asks = getattr(args, "pr", False)
    if args.junit is None:
        return Reports(plan=plan, pull_request=asks)
    from llmch.ci.junit import MAKER
    from llmch.entry.report_files import place_for_report

    return Reports(place_for_report("--junit", args.junit, MAKER), plan, asks)


@contextmanager
def reporting(
    options: RunOptions,
    reports: Reports,
    console: Console,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[None]:
    """Report the run of the block, or the error that ended it.

    A report that cannot be written is a warning: it changes nothing of what the run did.
    """
    from llmch.entry.step_summary import summary_file

    in_actions, summary = runs_in_actions(environ), summary_file(environ)
    if not (in_actions or summary or reports.junit):
        yield
        return
    before = _latest_id(options)
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        run = _latest(options)
        if run is not None and run.run_id == before:
            run = None
        _report(run, error, reports, summary, console)


def _report(
    run: RunView | None,
    error: BaseException | None,
    reports: Reports,
    summary: Path | None,
    console: Console,
) -> None:
    if summary is not None:
        from llmch.entry.step_summary import append_summary

        append_summary(summary, run, error, console)
    try:
        write_junit(reports, run, error, console)
    except LlmchError as refused:
        console(Warned(f"the JUnit file was not written: {refused.message}"))
    if run is not None:
        annotate_orders(run, reports.plan, console)


def report_records(reports: Reports, folder: Path, artifacts: Path, console: Console) -> None:
    """Report the run whose records are in `folder`, which a fleet may have made elsewhere."""
    from llmch.entry.step_summary import summary_file
    from llmch.run_view.reading import read_report

    summary = summary_file(os.environ)
    if not (summary or reports.junit or runs_in_actions(os.environ)):
        return
    try:
        run = read_report(str(folder), None, artifacts)
    except LlmchError as refused:
        console(Warned(f"the run cannot be reported: {refused.message}"))
        return
    _report(run, None, reports, summary, console)


def write_junit(
    reports: Reports, run: RunView | None, error: BaseException | None, console: Console
) -> None:
    """Write the JUnit file where one is asked for. Raises `CommandFailed`."""
    if reports.junit is None:
        return
    from llmch.ci.junit import render_junit, render_junit_of_error
    from llmch.entry.report_files import write_report

    if run is not None:
        text = render_junit(run, mask_secrets)
    else:
        text = render_junit_of_error(*_in_words(error), mask_secrets)
    write_report(reports.junit, text)
    console(Noted(f"JUnit: {reports.junit}"))


def annotate_orders(run: RunView, plan: Path | None, console: Console) -> None:
    """Have GitHub Actions show the orders that failed, each at its file in the checkout."""
    if not runs_in_actions(os.environ):
        return
    from llmch.ci.annotations import failed_orders, render_annotations
    from llmch.entry.checkout import order_files

    files = order_files(plan, [each.id for each in run.orders])
    console.annotate(render_annotations(failed_orders(run, files), mask_secrets))


def mask_secrets(text: str) -> str:
    """Return a text without the secrets of this process's environment."""
    return masking(os.environ)(text)


def _in_words(error: BaseException | None) -> tuple[str, str, str]:
    """Return message, hint and name of what ended a command before there was a run."""
    match error:
        case LlmchError():
            return error.message, error.hint, error.exit_code.name
        case KeyboardInterrupt():
            return "interrupted before an order was begun", "", "INTERRUPTED"
        case None:
            return "no order was begun", "", "FAILED"
        case _:
            return f"{type(error).__name__}: {error}", "", "INTERNAL"


def _latest(options: RunOptions) -> RunView | None:
    from llmch.run_view.reading import read_report

    try:
        return read_report(None, options.repo, options.settings.artifacts_dir)
    except LlmchError:
        return None


def _latest_id(options: RunOptions) -> str:
    from llmch.run_view.find import FoundRun, find_run

    try:
        found = find_run(None, options.repo, options.settings.artifacts_dir)
    except LlmchError:
        return ""
    return found.run.run_id if isinstance(found, FoundRun) else ""
