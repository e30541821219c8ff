"""Checks what the factory relies on: interpreter, sandbox, workspaces, and a repo's state."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from factory.recovery.reset import find_run_leftovers
from factory.repo.lock import holder
from factory.repo.preflight import RepoPlace, find_repo, inspect_repo
from factory.sandbox import find_backends
from factory.workbench.workspace import workspaces_root
from shared.errors import LlmchError
from shared.files.repo_sources import RepoSources
from shared.git.index import tracked_files
from shared.health import Checkup, Health, check_folder
from shared.projects.verification import find_verification


def check_interpreter(named: str | None) -> Checkup:
    """Return whether there is an interpreter for commands: the `named` program, else our own."""
    if named is not None and shutil.which(named) is None:
        detail = f"{named} was not found"
        return Checkup("python", Health.BROKEN, detail, "correct --python or the setting `python`")
    own = ".".join(map(str, sys.version_info[:3]))
    return Checkup("python", Health.WELL, f"{own}; commands get {named or sys.executable}")


def check_sandboxes() -> Iterator[Checkup]:
    """Yield whether each sandbox works; one working sandbox is enough."""
    backends = find_backends()
    works = any(not each.problem for each in backends)
    for each in backends:
        name = f"{each.backend} {each.version}".strip()
        if not each.problem:
            yield Checkup("sandbox", Health.WELL, f"{name} works")
        else:
            health = Health.LIMITED if works else Health.BROKEN
            yield Checkup("sandbox", health, f"{name}: {each.problem}", each.remedy)


def check_workspaces() -> Checkup:
    """Return whether the folder for working trees can be written and has room."""
    return check_folder("workspaces", workspaces_root(), "LLMCH_WORKSPACES")


def check_repo(folder: Path, chosen: Sequence[str] = ()) -> Iterator[Checkup]:
    """Yield whether a run could start in the repo at `folder`, and what an earlier run left.

    `chosen` is the setting `verify`.
    """
    try:
        place = find_repo(folder)
        repo = inspect_repo(place)
    except LlmchError as error:
        yield Checkup("repo", Health.BROKEN, error.message, error.hint)
        return
    yield Checkup("repo", Health.WELL, f"{repo.tree} on {repo.branch} at {repo.head[:10]}")
    if repo.ignored_filters:
        names = ", ".join(repo.ignored_filters)
        detail = f"filters that only the repo's own config defines do not run: {names}"
        yield Checkup("repo", Health.LIMITED, detail, "trust them with --allow-repo-filters")
    yield from _check_verification(place, chosen)
    yield _check_leftovers(place)


def _check_verification(place: RepoPlace, chosen: Sequence[str]) -> Iterator[Checkup]:
    """Yield what verifies the checkout, and what of it is not run."""
    files = RepoSources(place.tree, tracked_files(place.git))
    found = find_verification(files, chosen)
    health = Health.WELL if found.is_known else Health.LIMITED
    yield Checkup("verification", health, found.describe())
    for note in found.notes:
        detail, _, remedy = note.partition(": `--verify ")
        yield Checkup(
            "verification", Health.LIMITED, detail, f"`--verify {remedy}" if remedy else ""
        )


def _check_leftovers(place: RepoPlace) -> Checkup:
    pid = holder(place.common_dir)
    if pid is not None:
        detail = f"a run holds the repo (pid {pid})"
        return Checkup("lock", Health.LIMITED, detail, "wait until that run ends")
    trees = len(find_run_leftovers(place).workspaces)
    if not trees:
        return Checkup("leftovers", Health.WELL, "none")
    detail = f"{trees} working {'tree' if trees == 1 else 'trees'} of a run that was cut off"
    remedy = "the next run removes them, and so does `llmch reset`"
    return Checkup("leftovers", Health.LIMITED, detail, remedy)
