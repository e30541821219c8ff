"""Exports a finished plan to the folder that the user asks for."""

from __future__ import annotations

import os
from pathlib import Path

from shared.errors import CommandFailed, InvalidInput, LlmchError
from shared.plan_folder.names import list_plan_files
from shared.plan_folder.write import replace_plan
from shared.work_order.schemas import Manifest


def check_export(outdir: Path, *, overwrite: bool, repo: Path | None = None) -> None:
    """Raise `InvalidInput` where a plan cannot be exported to `outdir`, or the flags forbid it.

    `repo` is the root of the repo that the plan is for: the plan may not be written into it. The
    check comes before any model is asked, so that nobody pays for a plan that cannot be written.
    """
    named = f"--outdir {outdir}"
    try:
        place = next(each for each in (outdir, *outdir.parents) if _is_there(each))
    except OSError as error:
        raise InvalidInput(
            f"{named} cannot be used: {error.strerror}", "name another folder"
        ) from error
    if not place.is_dir():
        raise InvalidInput(f"{named}: {place} is not a directory", "name a new or existing folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InvalidInput(f"{named}: {place} is not writable", "name another folder")
    if repo is not None and outdir.resolve().is_relative_to(repo.resolve()):
        raise InvalidInput(f"{named} is inside the target repo", "choose a folder outside of it")
    present = list_plan_files(outdir) if outdir.is_dir() else ()
    if present and not overwrite:
        raise InvalidInput(
            f"{named} already holds a plan ({present[-1]})",
            "name another folder, or replace that plan with --overwrite",
        )


def export_plan(outdir: Path, manifest: Manifest, output: Path) -> None:
    """Write a plan's files to `outdir`, and replace the plan there.

    Raises `CommandFailed` where the disk refuses; the error says that `output` holds the plan.
    """
    try:
        replace_plan(outdir, manifest)
    except LlmchError as refused:
        raise CommandFailed(
            refused.message, f"the plan is not lost: copy it from {output}"
        ) from refused


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()
