"""Writes the page of a run to a file, and opens it."""

from __future__ import annotations

import os
from pathlib import Path

from llmch.page.page import GENERATOR, render_page
from llmch.run_view.model.run import RunView
from shared.errors import InvalidInput
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.files.atomic_io import write_text
from shared.files.text_input import read_regular_file
from shared.secrets.redaction import masking

_HEAD_BYTES = 2_000  # a page names its maker within these


def place_for(path: Path) -> Path:
    """Return where a page may be written: a new file, or one that holds such a page.

    Raises `InvalidInput` where anything else is there, or the folder is not.
    """
    path = path.absolute()
    if path.is_dir():
        raise InvalidInput(
            f"--html {path} is a directory", f"name a file in it: --html {path / 'report.html'}"
        )
    if not path.parent.is_dir():
        raise InvalidInput(
            f"--html {path}: the folder {path.parent} is not there", "create it, or name another"
        )
    if path.exists() and not _is_page(path):
        raise InvalidInput(
            f"--html {path} would overwrite a file that is not a page of llmch",
            "name another file, or remove this one",
        )
    return path


def write_page(path: Path, run: RunView) -> None:
    """Write the page. No secret of this process's environment is in it."""
    write_text(path, render_page(run, mask=masking(os.environ)), sync=False)


def open_page(address: str, emit: Emit) -> None:
    """Open the page in the person's browser; where there is none, say so."""
    import webbrowser

    if not webbrowser.open(address):
        emit(Warned(f"no browser could be opened; the page is {address}"))


def _is_page(path: Path) -> bool:
    head = read_regular_file(path, "page", _HEAD_BYTES)
    return head.size == 0 or GENERATOR.encode() in head.data
