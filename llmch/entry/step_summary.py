"""Appends the report of a run to the summary of a GitHub Actions job.

GitHub shows the summary on the page of the job. It names the file in a variable, and reads it when
the step is over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.workflow_commands import runs_in_actions
from shared.errors import LlmchError
from shared.events.messages import Warned
from shared.secrets.redaction import masking

if TYPE_CHECKING:
    from llmch.console.document import Document
    from llmch.run_view.model.run import RunView

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
    from llmch.answers.run_report import RunReportDocument
    from llmch.console.document import ErrorDocument

    parts = []
    if run is not None:
        parts.append(markdown_of(RunReportDocument(run)))
    if isinstance(error, LlmchError):
        code = error.exit_code
        parts.append(markdown_of(ErrorDocument(error.message, error.hint, code, code.name)))
    _append(path, "\n".join(parts), console)


def markdown_of(document: Document) -> str:
    """Return a document as Markdown, without control characters and secrets."""
    from llmch.console.console import protection
    from llmch.console.renderers.markdown_document import render_markdown_document

    return render_markdown_document(document, protection(masking(os.environ)))


def _append(path: Path, text: str, console: Console) -> None:
    data = text.encode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        data = data[:_MOST_BYTES] + b"\n\nThe report goes on: `llmch report` prints all of it.\n"
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        console(Warned(f"the summary of the job could not be written: {error}"))
