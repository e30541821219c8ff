"""Checks whether git and folders work, and defines the checkups that `doctor` reports."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from shared.errors import LlmchError
from shared.git.client import Git
from shared.processes.pinned_tools import TOOLS, build_here, installed_program

# The first git with `merge-tree --write-tree`, which merges orders that were made side by side.
_MERGING_GIT = (2, 38)
_OLDEST_GIT = (2, 31)
_ROOM_BYTES = 1_000_000_000  # for workspaces and records of an ordinary repo
_INSTALL_GIT = "install git 2.38 or newer"


class Health(StrEnum):
    """Say whether something works: well, with limits, or not at all."""

    WELL = "well"
    LIMITED = "limited"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Checkup:
    """Hold the result of one checkup; `remedy` is empty if there is nothing to do."""

    name: str
    health: Health
    detail: str
    remedy: str = ""


def check_git() -> Checkup:
    """Return whether git is installed and new enough."""
    try:
        version = Git(Path.cwd()).run("version")
    except LlmchError as error:
        return Checkup("git", Health.BROKEN, error.message, _INSTALL_GIT)
    match = re.search(r"(\d+)\.(\d+)", version)
    numbers = (int(match[1]), int(match[2])) if match else (0, 0)
    if numbers < _OLDEST_GIT:
        return Checkup("git", Health.BROKEN, version, _INSTALL_GIT)
    if numbers < _MERGING_GIT:
        remedy = f"this git cannot merge orders that were made side by side: {_INSTALL_GIT}"
        return Checkup("git", Health.LIMITED, version, remedy)
    return Checkup("git", Health.WELL, version)


def check_folder(name: str, folder: Path, other: str) -> Checkup:
    """Return whether `folder` can be written and has room; `other` says how to choose another one.

    Where the folder does not exist yet, its nearest existing parent is checked.
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


def check_tools(paths: Iterable[str] | None = None) -> Iterator[Checkup]:
    """Yield for each program that can be fetched whether it is there, and which version.

    One that judges none of the files `paths` of a repo is left out.
    """
    suffixes = None if paths is None else {Path(each).suffix for each in paths}
    for tool in TOOLS.values():
        if suffixes is not None and suffixes.isdisjoint(tool.suffixes):
            continue
        program = installed_program(tool)
        if program is not None:
            detail = f"{tool.name} {tool.version} judges plans in TypeScript and JavaScript"
            yield Checkup("tools", Health.WELL, f"{detail} ({program}, {tool.licence})")
        elif build_here(tool) is None:
            detail = (
                f"{tool.name} does not exist for this machine: such plans are not judged by types"
            )
            yield Checkup("tools", Health.WELL, detail)
        else:
            detail = f"no {tool.name}: plans in TypeScript and JavaScript are not judged by types"
            remedy = f"`llmch doctor --fetch {tool.name}` fetches version {tool.version}"
            yield Checkup("tools", Health.WELL, f"{detail}; {remedy}")
