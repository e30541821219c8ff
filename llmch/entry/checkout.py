"""Names files as the CI system does that checked out the repository: relative to its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

_FOLDERS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def in_checkout(path: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return the path of a file relative to the job's checkout; "" where it is not in there."""
    folder = next((environ[name] for name in _FOLDERS if environ.get(name)), "")
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
    from shared.plan_folder.names import order_file_name

    is_folder = plan.is_dir()
    paths = {each: plan / order_file_name(each) if is_folder else plan for each in orders}
    return {each: in_checkout(path) for each, path in paths.items() if path.is_file()}
