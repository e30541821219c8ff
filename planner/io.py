"""Writes a finished plan, and the export of it that a user asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shared.atomic_io import make_folder, render_json, write_bytes, write_folder, write_refused
from shared.errors import InvalidInput
from shared.schemas import MANIFEST_NAME

_ORDER_FILE = re.compile(r"WO-[0-9]+\.json")


def plan_files(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Return a plan's files by name, the manifest last."""
    files = {f"{order['id']}.json": _encoded(order) for order in manifest["work_orders"]}
    return {**files, MANIFEST_NAME: _encoded(manifest)}


def write_plan(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Put a plan's files into a folder that does not exist yet, all of them at once."""
    write_folder(folder, plan_files(manifest))


def check_export(outdir: Path, *, overwrite: bool) -> None:
    """Raise `InvalidInput` where an export to `outdir` cannot be made, or is against the flags.

    Called before any model is asked: nobody pays for a plan that cannot be written.
    """
    named = f"--outdir {outdir}"
    try:
        place = next(each for each in (outdir, *outdir.parents) if _is_there(each))
        present = _present(outdir)
    except OSError as error:
        raise InvalidInput(
            f"{named} cannot be used: {error.strerror}", "name another folder"
        ) from error
    if not place.is_dir():
        raise InvalidInput(f"{named}: {place} is no folder", "name a new or existing folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InvalidInput(f"{named}: {place} may not be written", "name another folder")
    if present and not overwrite:
        raise InvalidInput(
            f"{named} holds a plan already ({present[0].name})",
            "name another folder, or replace that plan with --overwrite",
        )


def export_plan(outdir: Path, manifest: Mapping[str, Any]) -> None:
    """Put a plan's files into `outdir`, replacing the plan there, the manifest last.

    An old manifest goes first, so that at no time one is there that disagrees with its orders.
    """
    if not outdir.exists():
        make_folder(outdir.parent)
        write_plan(outdir, manifest)
        return
    files = plan_files(manifest)
    for old in _present(outdir):
        try:
            old.unlink()
        except OSError as error:
            raise write_refused(old, error) from error
    for name, data in files.items():
        write_bytes(outdir / name, data)


def _present(folder: Path) -> list[Path]:
    """Return the files of the plan in `folder`, its manifest first."""
    if not folder.is_dir():
        return []
    orders = sorted(each for each in folder.iterdir() if _ORDER_FILE.fullmatch(each.name))
    manifest = folder / MANIFEST_NAME
    return [manifest, *orders] if _is_there(manifest) else orders


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _encoded(document: object) -> bytes:
    return render_json(document).encode()
