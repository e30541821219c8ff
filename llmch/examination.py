"""What `doctor` looks at: git, Python, sandbox, model, disk, and a repo's locks and leftovers."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from llmch.console.figures import count
from shared.errors import LlmchError
from shared.git import Git
from shared.settings import Settings

# `git merge-tree --write-tree`, by which orders made side by side are brought together.
_MERGING_GIT = (2, 38)
_OLDEST_GIT = (2, 31)
_ROOM_BYTES = 1_000_000_000  # for workspaces and records of an ordinary repo


class Health(StrEnum):
    """Whether something works: well, with limits, or not at all."""

    WELL = "well"
    LIMITED = "limited"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    name: str
    health: Health
    told: str
    remedy: str = ""


def examine(settings: Settings, repo: Path | None, *, online: bool) -> tuple[Finding, ...]:
    """Return what was found, in a fixed order. Changes nothing."""
    found = [
        _git(),
        _python(settings),
        *_sandboxes(),
        *_model(settings, online=online),
        *_disk(settings),
    ]
    return (*found, *(_repo(repo) if repo is not None else ()))


def _git() -> Finding:
    try:
        told = Git(Path.cwd()).run("version")
    except LlmchError as error:
        return Finding("git", Health.BROKEN, error.message, "install git 2.38 or newer")
    match = re.search(r"(\d+)\.(\d+)", told)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < _OLDEST_GIT:
        return Finding("git", Health.BROKEN, told, "install git 2.38 or newer")
    if version < _MERGING_GIT:
        remedy = "orders that need no other cannot be merged: install git 2.38 or newer"
        return Finding("git", Health.LIMITED, told, remedy)
    return Finding("git", Health.WELL, told)


def _python(settings: Settings) -> Finding:
    own = ".".join(map(str, sys.version_info[:3]))
    named = settings.python
    if named is not None and shutil.which(named) is None:
        return Finding(
            "python", Health.BROKEN, f"{named}: no such program", "correct --python or the setting"
        )
    return Finding("python", Health.WELL, f"{own}; commands get {named or sys.executable}")


def _sandboxes() -> Iterator[Finding]:
    from factory.sandbox import find_backends

    backends = find_backends()
    works = any(not each.problem for each in backends)
    for each in backends:
        name = f"{each.backend} {each.version}".strip()
        if not each.problem:
            yield Finding("sandbox", Health.WELL, f"{name} works")
        else:
            health = Health.LIMITED if works else Health.BROKEN
            yield Finding("sandbox", health, f"{name}: {each.problem}", each.remedy)


def _model(settings: Settings, *, online: bool) -> Iterator[Finding]:
    from shared.llm.access import check_access

    for name, role in (("planner", settings.planner), ("factory", settings.factory)):
        try:
            access = check_access(os.environ, role.base_url)
        except LlmchError as error:
            yield Finding(name, Health.BROKEN, error.message, error.hint)
            continue
        told = f"{role.model} at {access.display_url}"
        if not online:
            yield Finding(name, Health.WELL, f"{told} (not asked; --online does)")
            continue
        from shared.llm.live import list_models

        try:
            names = list_models(access)
        except LlmchError as error:
            yield Finding(name, Health.BROKEN, f"{told}: {error.message}", error.hint)
            continue
        if role.model in names:
            yield Finding(name, Health.WELL, f"{told} answers")
        else:
            remedy = f"it has: {', '.join(sorted(names)[:8])}" if names else "it names no models"
            yield Finding(name, Health.LIMITED, f"{told} answers, but lists no such model", remedy)


def _disk(settings: Settings) -> Iterator[Finding]:
    from factory.workspace import workspaces_root

    for name, folder in (("records", settings.artifacts_dir), ("workspaces", workspaces_root())):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(there).free
        told = f"{folder}, {free / 1e9:.1f} GB free"
        if not os.access(there, os.W_OK):
            remedy = "make it writable, or choose another (--artifacts-dir, LLMCH_WORKSPACES)"
            yield Finding(name, Health.BROKEN, f"{folder} cannot be written", remedy)
        elif free < _ROOM_BYTES:
            yield Finding(name, Health.LIMITED, told, "free some space")
        else:
            yield Finding(name, Health.WELL, told)


def _repo(folder: Path) -> Iterator[Finding]:
    from factory.lock import holder
    from factory.preflight import find_repo, inspect_repo
    from factory.reset import find_leftovers

    try:
        place = find_repo(folder)
        repo = inspect_repo(place)
    except LlmchError as error:
        yield Finding("repo", Health.BROKEN, error.message, error.hint)
        return
    yield Finding("repo", Health.WELL, f"{repo.tree} on {repo.branch} at {repo.head[:10]}")
    if repo.ignored_filters:
        names = ", ".join(repo.ignored_filters)
        told = f"filters of the repo's own config do not run: {names}"
        yield Finding("repo", Health.LIMITED, told, "trust them with --allow-repo-filters")
    pid = holder(place.common_dir)
    if pid is not None:
        yield Finding("lock", Health.LIMITED, f"a run holds the repo (pid {pid})", "wait for it")
        return
    leftovers = find_leftovers(place)
    if leftovers.workspaces:
        told = f"{count(len(leftovers.workspaces), 'working tree')} of a run that was cut off"
        yield Finding(
            "leftovers", Health.LIMITED, told, "the next run clears them up, or `llmch reset`"
        )
    else:
        yield Finding("leftovers", Health.WELL, "none")
