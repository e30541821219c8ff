"""Reads a plan's folder the way `check` judges it: whatever is wrong in it becomes a finding."""

from __future__ import annotations

import re
from pathlib import Path

from planner.plan import Plan, parse_plan, unreadable_plan
from shared.errors import InvalidInput
from shared.schemas import MANIFEST_NAME, MAX_DOCUMENT_BYTES
from shared.strict_json import JsonProblem, JsonValue, parse_json

_ORDER_FILE = re.compile(r"WO-([0-9]+)\.json")


def read_plan_folder(folder: Path) -> Plan:
    """Return the plan in `folder`: its manifest's orders, else those of its `WO-NN.json` files.

    Raises `InvalidInput` where there is nothing to judge, a file cannot be read, or the manifest
    and the files disagree.
    """
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder", "name a folder with a plan's files")
    names = list_plan_files(folder)
    if not names:
        raise InvalidInput(
            f"{folder} holds no work orders", "make some: `llmch plan --spec SPEC --outdir DIR`"
        )
    documents: dict[str, JsonValue] = {}
    for name in names:
        try:
            documents[name] = _read(folder / name)
        except JsonProblem as problem:
            return unreadable_plan(f"{name}: {problem}")
    if MANIFEST_NAME not in documents:
        return parse_plan({"work_orders": list(documents.values())})
    document = documents.pop(MANIFEST_NAME)
    _compare(folder, document, documents)
    return parse_plan(document)


def holds_plan(folder: Path) -> bool:
    """Say whether `folder` has a plan's files.

    Raises `InvalidInput` where it cannot be read.
    """
    return folder.is_dir() and bool(list_plan_files(folder))


def list_plan_files(folder: Path) -> list[str]:
    """Return the names of a plan's files, orders by number and the manifest last.

    Raises `InvalidInput` where the folder cannot be read.
    """
    try:
        found = {each.name for each in folder.iterdir()}
    except OSError as error:
        raise InvalidInput(
            f"cannot read {folder}: {error.strerror}", "check your permission to read it"
        ) from error
    orders = [match for name in found if (match := _ORDER_FILE.fullmatch(name))]
    names = [match[0] for match in sorted(orders, key=lambda match: (int(match[1]), match[0]))]
    return [*names, MANIFEST_NAME] if MANIFEST_NAME in found else names


def _read(path: Path) -> JsonValue:
    try:
        if not path.is_file():
            raise InvalidInput(f"{path} is no regular file", "put the plan's own files there")
        with path.open("rb") as file:
            return parse_json(file.read(MAX_DOCUMENT_BYTES + 1))
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}", "check your permission to read it"
        ) from error


def _compare(folder: Path, document: JsonValue, files: dict[str, JsonValue]) -> None:
    """Refuse a manifest that says something else than the order files beside it."""
    orders = document.get("work_orders") if isinstance(document, dict) else None
    if not files or not isinstance(orders, list):
        return
    planned = {f"{each.get('id')}.json": each for each in orders if isinstance(each, dict)}
    for name in sorted(planned.keys() | files.keys()):
        if planned.get(name) != files.get(name):
            raise InvalidInput(
                f"{folder}: {name} and {MANIFEST_NAME} disagree",
                "plan again, or remove one of them to judge the other",
            )
