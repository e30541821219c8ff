"""Says what to do about a plan that a person edited."""

from __future__ import annotations

import shlex
from pathlib import Path

from shared.errors import InvalidInput
from shared.plan_folder.names import MANIFEST_NAME


def edited_manifest(folder: Path) -> InvalidInput:
    """Return the error for a manifest whose hash is not its own."""
    return InvalidInput(
        f"{folder / MANIFEST_NAME} was edited since the plan was made: its hash does not recompute",
        takes_edits(folder),
    )


def takes_edits(folder: Path) -> str:
    """Return, as a hint, the command that takes what a person edited in a plan."""
    return f"`{accept_edits(folder)}` judges what you edited and takes it"


def accept_edits(folder: Path) -> str:
    """Return the command that takes what a person edited in the plan in `folder`."""
    return f"llmch check {shlex.quote(str(folder))} --accept-edits"
