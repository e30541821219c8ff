"""What `doctor` reports: whether each part that llmch relies on works. The parts of every floor."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from shared.errors import LlmchError
from shared.git.client import Git

# `git merge-tree --write-tree`, by which orders made side by side are brought together.
_MERGING_GIT = (2, 38)
_OLDEST_GIT = (2, 31)
_ROOM_BYTES = 1_000_000_000  # for workspaces and records of an ordinary repo
_INSTALL_GIT = "install git 2.38 or newer"


class Health(StrEnum):
    """Whether something works: well, with limits, or not at all."""

    WELL = "well"
    LIMITED = "limited"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Checkup:
    """What one look at the machine found; `remedy` is empty where nothing is to be done."""

    name: str
    health: Health
    detail: str
    remedy: str = ""


def check_git() -> Checkup:
    """Return whether git is there, and new enough."""
    try:
        version = Git(Path.cwd()).run("version")
    except LlmchError as error:
        return Checkup("git", Health.BROKEN, error.message, _INSTALL_GIT)
    match = re.search(r"(\d+)\.(\d+)", version)
    numbers = (int(match[1]), int(match[2])) if match else (0, 0)
    if numbers < _OLDEST_GIT:
        return Checkup("git", Health.BROKEN, version, _INSTALL_GIT)
    if numbers < _MERGING_GIT:
        remedy = f"orders that need no other cannot be merged: {_INSTALL_GIT}"
        return Checkup("git", Health.LIMITED, version, remedy)
    return Checkup("git", Health.WELL, version)


def check_folder(name: str, folder: Path, other: str) -> Checkup:
    """Return whether `folder` can be written and has room; `other` says how to choose another.

    The folder does not have to exist yet: then the nearest one above it is looked at.
    """
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    if not os.access(there, os.W_OK):
        remedy = f"make it writable, or choose another folder ({other})"
        return Checkup(name, Health.BROKEN, f"{folder} cannot be written", remedy)
    detail = f"{folder}, {free / 1e9:.1f} GB free"
    if free < _ROOM_BYTES:
        return Checkup(name, Health.LIMITED, detail, "free some space")
    return Checkup(name, Health.WELL, detail)
