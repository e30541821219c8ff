"""Reports a run to the CI system that it runs in.

GitHub shows the summary on the page of the job. It names the file in a variable, and reads it when
the step is over.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from factory.orders import task
from llmch.ci import junit
from llmch.console import Console, render
from llmch.console import console as consoles
from llmch.console import document as documents
from llmch.console.line import count, one_line, printed, shorten
from llmch.console.plain_printer import runs_in_actions
from llmch.runs import read_run, run_report
from llmch.runs.run_model import OrderView, RunView
from shared.errors import LlmchError
from shared.events.events import Noted, Warned
from shared.files.atomic_io import write_text
from shared.files.secret_values import Mask, masking
from shared.files.text_sources import place_for_output
from shared.work_order import plan_folder


@dataclass(frozen=True, slots=True)
class Reports:
    """Say which reports a run is to leave.

    `junit` is the file for JUnit, and `plan` the folder of the plan, or the file of one order;
    `None` for none. `pull_request` says that the run's branch is to get one, and `closes` is the
    number of the issue that it closes once it is merged.
    """

    junit: Path | None = None
    plan: Path | None = None
    pull_request: bool = False
    closes: int = 0


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

    Raises `InvalidInput` if a file cannot be written, before anything is done.
    """
    asks = getattr(args, "pr", False)
    if args.junit is None:
        return Reports(plan=plan, pull_request=asks)
    return Reports(place_for_output("--junit", args.junit, "junit.xml", junit.MAKER), plan, asks)


@contextmanager
def reporting(
    options: task.RunOptions,
    reports: Reports,
    console: Console,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[None]:
    """Report the run of the block, or the error that ended it.

    A report that cannot be written is a warning: it changes nothing of what the run did.
    """

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
        append_summary(summary, run, error, console)
    try:
        write_junit(reports, run, error, console)
    except LlmchError as refused:
        console(Warned(f"the JUnit file was not written: {refused.message}"))
    if run is not None:
        annotate_orders(run, reports.plan, console)


def report_records(reports: Reports, folder: Path, artifacts: Path, console: Console) -> None:
    """Report the run whose records are in `folder`, which a fleet may have made elsewhere."""
    summary = summary_file(os.environ)
    if not (summary or reports.junit or runs_in_actions(os.environ)):
        return
    try:
        run = read_run.read_report(str(folder), None, artifacts)
    except LlmchError as refused:
        console(Warned(f"the run cannot be reported: {refused.message}"))
        return
    _report(run, None, reports, summary, console)


def report_answer(
    document: documents.Document, annotations: Iterable[Annotation], console: Console
) -> None:
    """Report the answer of a command that leaves no run of orders to GitHub Actions."""
    if summary := summary_file(os.environ):
        _append(summary, markdown_of(document), console)
    if runs_in_actions(os.environ):
        console.annotate(render_annotations(annotations, mask_secrets))


def write_junit(
    reports: Reports, run: RunView | None, error: BaseException | None, console: Console
) -> None:
    """Write the JUnit file where one is asked for. Raises `CommandFailed`."""
    if reports.junit is None:
        return
    if run is not None:
        text = junit.render_junit(run, mask_secrets)
    else:
        text = junit.render_junit_of_error(*_in_words(error), mask_secrets)
    write_text(reports.junit, text, sync=False)
    console(Noted(f"JUnit: {reports.junit}"))


def annotate_orders(run: RunView, plan: Path | None, console: Console) -> None:
    """Have GitHub Actions show the orders that failed, each at its file in the checkout."""
    if not runs_in_actions(os.environ):
        return
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


def _latest(options: task.RunOptions) -> RunView | None:
    try:
        return read_run.read_report(None, options.repo, options.settings.artifacts_dir)
    except LlmchError:
        return None


def _latest_id(options: task.RunOptions) -> str:
    try:
        found = read_run.find_run(None, options.repo, options.settings.artifacts_dir)
    except LlmchError:
        return ""
    return found.run.run_id if isinstance(found, read_run.FoundRun) else ""


_FILE = "GITHUB_STEP_SUMMARY"
_MOST_BYTES = 900_000  # GitHub drops the summary of a step that has more than 1 MiB


def summary_file(environ: Mapping[str, str]) -> Path | None:
    """Return the file of the job's summary; `None` outside of GitHub Actions."""
    path = environ.get(_FILE, "")
    return Path(path) if path and runs_in_actions(environ) else None


def append_summary(
    path: Path, run: RunView | None, error: BaseException | None, console: Console
) -> None:
    """Append the report of a run, and the error that ended the command, if there are any.

    A summary that cannot be written is a warning.
    """
    parts = []
    if run is not None:
        parts.append(markdown_of(run_report.RunReportDocument(run)))
    if isinstance(error, LlmchError):
        code = error.exit_code
        parts.append(
            markdown_of(documents.ErrorDocument(error.message, error.hint, code, code.name))
        )
    _append(path, "\n".join(parts), console)


def markdown_of(document: documents.Document) -> str:
    """Return a document as Markdown, without control characters and secrets."""
    return render.render_markdown_document(document, consoles.protection(masking(os.environ)))


def _append(path: Path, text: str, console: Console) -> None:
    data = text.encode("utf-8", "replace")
    try:
        with path.open("ab") as file:
            room = max(0, _MOST_BYTES - file.tell())  # an earlier command of the step has the rest
            if len(data) > room:
                data = data[:room] + b"\n\nThe report goes on: `llmch report` prints all of it.\n"
            file.write(data)
    except OSError as error:
        console(Warned(f"the summary of the job could not be written: {error}"))


MOST_SHOWN: Final = 10
"""As many annotations of a level does GitHub show of one step."""
_LONGEST_TITLE: Final = 200  # characters
_LONGEST_MESSAGE: Final = 3_000  # characters; GitHub cuts what has over 4 KB


class Level(StrEnum):
    """Name what GitHub can make of an annotation."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Annotation:
    """Hold what is said, and where: `file` is relative to the checkout, "" for no file.

    `line` and `column` count from 1; 0 is unknown.
    """

    level: Level
    title: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0


def render_annotations(annotations: Iterable[Annotation], mask: Mask = str) -> Iterator[str]:
    """Yield a line for each annotation, at most as many of a level as are shown.

    Where there are more, the last one says how many. `mask` takes secrets out of a text.
    """
    found = tuple(annotations)
    for level in Level:
        of_level = [each for each in found if each.level is level]
        most = MOST_SHOWN if len(of_level) <= MOST_SHOWN else MOST_SHOWN - 1
        yield from (_render(each, mask) for each in of_level[:most])
        if len(of_level) > most:
            more = f"{count(len(of_level) - most, f'more {level}')}; the log has all of them"
            yield _render(Annotation(level, "llmch", more), mask)


def failed_orders(run: RunView, file_of: Mapping[str, str]) -> Iterator[Annotation]:
    """Yield an annotation for each order that failed; `file_of` has the files of orders by id."""
    for order in run.orders:
        if order.failure is not None and not order.is_on_branch:
            yield _failed(order, file_of.get(order.id, ""))


def error_annotation(error: LlmchError, mask: Mask = str) -> str:
    """Return the line that annotates the error that ended a command."""
    text = "\n".join(filter(None, (error.message, error.hint)))
    return _render(Annotation(Level.ERROR, f"llmch {error.exit_code.name}", text), mask)


def _failed(order: OrderView, file: str) -> Annotation:
    briefs = [each.brief for each in reversed(order.attempts) if each.brief]
    brief = briefs[0] if briefs else order.failure
    assert brief is not None, "only an order that failed is annotated"
    words = brief.stage.replace("_", " ")
    ended = "" if brief.exit_code is None else f" (exit code {brief.exit_code})"
    lines = (
        order.title,
        brief.command and f"$ {brief.command}{ended}",
        *(reversed(brief.facts) if brief.facts else (brief.excerpt,)),
        brief.remedy,
    )
    return Annotation(
        Level.ERROR, f"{order.id} {words}", "\n".join(filter(None, lines)), file, 1 if file else 0
    )


def _render(annotation: Annotation, mask: Mask) -> str:
    title = shorten(one_line(mask(annotation.title)), _LONGEST_TITLE)
    message = shorten(mask(annotation.message), _LONGEST_MESSAGE)
    places = (
        ("file", annotation.file),
        ("line", str(annotation.line or "")),
        ("col", str(annotation.column or "")),
        ("title", title),
    )
    properties = ",".join(f"{name}={_property(value)}" for name, value in places if value)
    return f"::{annotation.level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """Return a text escaped as the runner reads it: no line ends in it, so it is one command."""
    return printed(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_FOLDERS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def in_checkout(path: Path) -> str:
    """Return the path of a file relative to the job's checkout; "" if it is not in there."""
    folder = next((os.environ[name] for name in _FOLDERS if os.environ.get(name)), "")
    if not folder:
        return ""
    try:
        return path.resolve().relative_to(Path(folder).resolve()).as_posix()
    except (OSError, ValueError):
        return ""


def order_files(plan: Path | None, orders: Iterable[str]) -> Mapping[str, str]:
    """Return the files of orders in the checkout, by id.

    `plan` is a plan's folder, the file of one order, or `None` for neither.
    """
    if plan is None:
        return {}
    is_folder = plan.is_dir()
    paths = {
        each: plan / plan_folder.order_file_name(each) if is_folder else plan for each in orders
    }
    return {each: in_checkout(path) for each, path in paths.items() if path.is_file()}
