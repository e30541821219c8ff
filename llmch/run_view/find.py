"""Finds the run that a person names: by id, by branch, or by the folder of its records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.record.runs_on_record import LATEST, RunOnRecord, choose_run, runs_on_record
from factory.repo.lock import holder
from factory.repo.preflight import RepoPlace, find_repo
from llmch.run_view.documents import read_fields
from llmch.run_view.orders import Ground
from shared.errors import InvalidInput, LlmchError
from shared.git import refs
from shared.git.client import Git

_NO_REPO = Path("/nonexistent")


@dataclass(frozen=True, slots=True)
class FoundRun:
    """Hold a run, where it is from, and the process that works on its repo, if there is one."""

    run: RunOnRecord
    ground: Ground
    pid: int | None


@dataclass(frozen=True, slots=True)
class FoundBranch:
    """Hold a branch that no run on record made, and its repo."""

    branch: str
    git: Git


def find_run(wanted: str | None, repo: Path | None, artifacts: Path) -> FoundRun | FoundBranch:
    """Return the run that `wanted` names, or the branch where no run on it is on record.

    `wanted` is the folder of a run, a branch, an id of a run or the beginning of one, or `None` for
    the repo's latest run. `repo` is `None` for no repo: then only a folder can be named. Raises
    `InvalidInput`, which says what there is, where nothing fits.
    """
    folder = Path(wanted) if wanted else None
    if folder is not None and (folder / "run.json").exists():
        return _of_folder(folder.resolve(), repo)
    if repo is None:
        raise InvalidInput(
            "without a repo, only the folder of a run can be reported on",
            "name the folder that has its run.json",
        )
    place = find_repo(repo)
    runs = tuple(runs_on_record(artifacts, place.common_dir, place.tree))
    if wanted is not None and refs.tip_of_branch(place.git, wanted):
        on_branch = tuple(each for each in runs if each.head.get("branch") == wanted)
        if not on_branch:
            return FoundBranch(wanted, place.git)
        return _found(on_branch[0], runs, place)
    if not runs:
        raise InvalidInput(
            f"there is no run of this repo in {artifacts / 'factory'}",
            "name the folder of the records with --artifacts-dir, the repo with --repo, a branch "
            "that llmch made, or the folder of the run itself",
        )
    return _found(choose_run(runs, wanted or LATEST), runs, place)


def _found(run: RunOnRecord, runs: tuple[RunOnRecord, ...], place: RepoPlace) -> FoundRun:
    earlier = tuple(each for each in runs if each.run_id < run.run_id)
    ground = Ground(place.git, place.common_dir, earlier)
    return FoundRun(run, ground, holder(place.common_dir) if run == runs[0] else None)


def _of_folder(folder: Path, repo: Path | None) -> FoundRun:
    head = read_fields(folder / "run.json")
    run = RunOnRecord(folder.name, folder, head.value)
    if head.text("command") in ("plan", "accept"):
        raise InvalidInput(
            f"{folder} is the record of `llmch {head.text('command')}`, not of a run of orders",
            "name a run of `llmch run`, `run-all` or `build`: a folder of artifacts/factory",
        )
    # What the person names counts before what the record says of another machine, perhaps.
    for place in (repo, head.path("repo") or _NO_REPO) if repo else ():
        try:
            found = find_repo(place)
        except LlmchError:
            continue
        base = head.object_id("base")
        if base and refs.commit_of(found.git, base):
            runs = tuple(runs_on_record(folder.parent.parent, found.common_dir, found.tree))
            return _found(run, runs or (run,), found)
    return FoundRun(run, Ground(None, _NO_REPO), None)
