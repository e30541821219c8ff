"""Finds the runs of a repo by the folders that they leave in the artifacts folder.

Anything may have happened to these files since they were written, and a clone may have brought
some of them along. So they are read with bounds, and never believed further than a person who
looks at them would believe them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factory.record.journal import journal_path, read_understood
from factory.record.journal_entries import RunBegun
from factory.repo.path_names import name_paths
from shared.errors import InvalidInput
from shared.files.strict_json import MAX_DOCUMENT_BYTES
from shared.files.text_input import read_regular_file

LATEST = "latest"
_RUN_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID
_ATTEMPT = re.compile("attempt_([1-9][0-9]{0,3})")
_REMADE = "on_the_tip"  # the folder of an order that was made again on a newer commit


@dataclass(frozen=True, slots=True)
class RunOnRecord:
    """Name a run and its folder; `head` is its `run.json`, empty where that cannot be read."""

    run_id: str
    folder: Path
    head: Mapping[str, Any]

    def orders(self) -> tuple[str, ...]:
        """Return the orders that the run was asked for."""
        listed = self.head.get("orders")
        rows = listed if isinstance(listed, list) else []
        ids = (each.get("id") for each in rows if isinstance(each, dict))
        return tuple(each for each in ids if isinstance(each, str))

    def folder_of(self, order: str) -> Path:
        """Return the folder of an order's attempts, where there may be none."""
        folder = self.folder if self.head.get("command") == "run" else self.folder / order
        remade = folder / _REMADE
        return remade if remade.is_dir() else folder

    def summary_folder_of(self, order: str) -> Path:
        """Return the folder of an order's `run_summary.json` and `work_order.json`."""
        folder = self.folder_of(order)
        return folder.parent if folder.name == _REMADE else folder

    def attempts_of(self, order: str) -> tuple[int, ...]:
        """Return the numbers of the attempts at an order that left a folder, in their sequence."""
        folder = self.folder_of(order)
        names = (each.name for each in folder.iterdir()) if folder.is_dir() else ()
        found = map(_ATTEMPT.fullmatch, names)
        return tuple(sorted(int(each[1]) for each in found if each))


def places_of_runs(artifacts: Path, common_dir: Path) -> tuple[Path, ...]:
    """Return the folders that have folders of a repo's runs; some may not be there.

    The run of the journal may have had another artifacts folder.
    """
    entries = read_understood(journal_path(common_dir))
    begun = (each.folder.parent for each in entries if isinstance(each, RunBegun))
    return tuple(dict.fromkeys((artifacts / "factory", *begun)))


def runs_on_record(artifacts: Path, common_dir: Path, tree: Path) -> Iterator[RunOnRecord]:
    """Yield the runs of a repo, newest first: ids of runs sort by the time they were made."""
    found = {
        folder.name: folder
        for place in places_of_runs(artifacts, common_dir)
        for folder in (place.iterdir() if place.is_dir() else ())
        if _RUN_ID.fullmatch(folder.name) and folder.is_dir()
    }
    for run_id, folder in sorted(found.items(), reverse=True):
        head = read_object(folder / "run.json")
        repo = head.get("repo")
        if head.get("command") == "accept":
            continue  # it judged a person's commit, and made no attempt
        if not isinstance(repo, str) or Path(repo).is_relative_to(tree):
            yield RunOnRecord(run_id, folder, head)


def choose_run(runs: tuple[RunOnRecord, ...], wanted: str) -> RunOnRecord:
    """Return the run that `wanted` names: its id, the beginning of the id, or `LATEST`.

    `runs` are newest first. Raises `InvalidInput` where that is none of them or several.
    """
    if wanted == LATEST:
        return runs[0]
    found = [each for each in runs if each.run_id.startswith(wanted.upper())]
    if wanted and len(found) == 1:
        return found[0]
    ids = [each.run_id for each in found or runs]
    if wanted and not found:
        raise InvalidInput(
            f"there is no run {wanted!r} of this repo", f"the runs on record: {name_paths(ids)}"
        )
    raise InvalidInput(f"{wanted!r} begins the ids of several runs", f"they are {name_paths(ids)}")


def read_object(path: Path) -> Mapping[str, Any]:
    """Return the JSON object in a record; it is empty where there is no readable one."""
    try:
        start = read_regular_file(path, "record", MAX_DOCUMENT_BYTES + 1)
        value = json.loads(start.data)
    except (InvalidInput, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
