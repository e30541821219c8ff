"""Opens the repo that a plan is for."""

from __future__ import annotations

from pathlib import Path

from shared.errors import InvalidInput
from shared.git import repos
from shared.git.client import Git


def open_repo(folder: Path) -> Git:
    """Return git at the root of the working tree that `folder` is in.

    Raises `InvalidInput` where `folder` is not a directory in a working tree.
    """
    if not folder.is_dir():
        raise InvalidInput(f"--repo {folder}: no such folder", "name the root of a git repo")
    layout = repos.layout(Git(folder.resolve()))
    if layout is None:
        raise InvalidInput(
            f"--repo {folder}: {folder.resolve()} is not a git working tree",
            "name the root of a git repo, or pass --no-repo to go without one",
        )
    return Git(layout[0])
