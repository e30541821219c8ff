"""Appends the report of a run to the summary of a GitHub Actions job.

GitHub shows the summary on the page of the job. It names the file in a variable, and reads it when
the step is over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from shared.errors import LlmchError
from shared.events.messages import Warned
from shared.secrets.redaction import redact, secret_values

if TYPE_CHECKING:
    from factory.orders.options import RunOptions
    from llmch.console.document import Document
    from llmch.run_view.model import RunView

_FILE = "GITHUB_STEP_SUMMARY"
_MOST_BYTES = 900_000  # GitHub drops the summary of a step that has more than 1 MiB


@contextmanager
def step_summary(
    options: RunOptions, console: Console, environ: Mapping[str, str] = os.environ
) -> Iterator[None]:
    """Report the run of the block, or the error that ended it, in the summary of the job.

    Outside of GitHub Actions nothing happens. A summary that cannot be written is a warning.
    """
    path = environ.get(_FILE, "")
    if not path or environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    before = _latest_id(options)
    error: LlmchError | None = None
    try:
        yield
    except LlmchError as raised:
        error = raised
        raise
    finally:
        _append(Path(path), _summary(options, before, error), console)


def markdown_of(document: Document) -> str:
    """Return a document as Markdown, without control characters and secrets."""
    from llmch.console.clean import clean
    from llmch.console.renderers.markdown_document import render_markdown_document

    secrets = secret_values(os.environ)
    return render_markdown_document(document, lambda text: redact(clean(text), secrets))


def _summary(options: RunOptions, before: str, error: LlmchError | None) -> str:
    """Return the report of the run that is on record since `before`, and the error."""
    from llmch.answers.run_report import RunReportDocument
    from llmch.console.document import ErrorDocument

    parts = []
    run = _latest(options)
    if run is not None and run.run_id != before:
        parts.append(markdown_of(RunReportDocument(run)))
    if error is not None:
        code = error.exit_code
        parts.append(markdown_of(ErrorDocument(error.message, error.hint, code, code.name)))
    return "\n".join(parts)


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


def _append(path: Path, text: str, console: Console) -> None:
    data = text.encode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        data = data[:_MOST_BYTES] + b"\n\nThe report goes on: `llmch report` prints all of it.\n"
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        console(Warned(f"the summary of the job could not be written: {error}"))
