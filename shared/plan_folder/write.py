"""Writes a plan's files so that a manifest never lies beside orders that it does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shared.errors import CommandFailed
from shared.files.atomic_io import (
    make_folder,
    render_json,
    replace_files,
    write_bytes,
    write_folder,
    write_refused,
)
from shared.files.strict_json import JsonObject, JsonValue
from shared.plan_folder.names import MANIFEST_NAME, list_plan_files, order_file_name
from shared.work_order.schemas import Manifest


def plan_files(manifest: Manifest) -> dict[str, bytes]:
    """Return the contents of a plan's files by name, the manifest last."""
    files = {
        order_file_name(order.id): _encoded(order.model_dump(mode="json"))
        for order in manifest.work_orders
    }
    return {**files, MANIFEST_NAME: _encoded(manifest.model_dump(mode="json"))}


def write_plan(folder: Path, manifest: Manifest) -> None:
    """Write a plan's files into a folder that does not exist yet, all of them at once.

    Raises `CommandFailed` where the disk refuses.
    """
    write_folder(folder, plan_files(manifest))


def replace_plan(folder: Path, manifest: Manifest) -> None:
    """Write a plan's files into `folder`, in the place of the plan there.

    The old manifest is removed first and the new one is written last, so the folder never holds a
    manifest that disagrees with its orders. Raises `CommandFailed` where the disk refuses.
    """
    if not folder.exists():
        make_folder(folder.parent)
        write_plan(folder, manifest)
        return
    present = list_plan_files(folder) if folder.is_dir() else ()
    for name in reversed(present):
        try:
            (folder / name).unlink()
        except OSError as error:
            raise write_refused(folder / name, error) from error
    for name, data in plan_files(manifest).items():
        write_bytes(folder / name, data)


def rewrite_plan(folder: Path, before: JsonObject, after: JsonObject) -> None:
    """Replace the plan's document `before`, as it was read from `folder`, by `after`.

    The same kinds of files are written that are there: a manifest, order files, or both. A file
    whose content would not change is not written. Raises `CommandFailed` where the disk refuses;
    then nothing has changed.
    """
    names = list_plan_files(folder)
    then, now = _by_name(before, names, before), _by_name(after, names, before)
    changed = {name: document for name, document in now.items() if then.get(name) != document}
    _replace(folder, changed, sorted(then.keys() - now.keys()))


def write_edited_plan(folder: Path, read: Mapping[str, JsonValue], after: JsonObject) -> None:
    """Write the plan `after` over the documents `read` from `folder`, which may disagree.

    Order files are written where there are some. Raises as `rewrite_plan` does.
    """
    now: dict[str, JsonValue] = {}
    if read.keys() - {MANIFEST_NAME}:
        now = {order_file_name(str(each.get("id"))): each for each in _orders(after)}
    now[MANIFEST_NAME] = after
    changed = {name: each for name, each in now.items() if name not in read or read[name] != each}
    _replace(folder, changed, sorted(read.keys() - now.keys()))


def _replace(folder: Path, files: Mapping[str, JsonValue], gone: Sequence[str]) -> None:
    try:
        replace_files(folder, {name: _encoded(each) for name, each in files.items()}, gone)
    except CommandFailed as refused:
        raise CommandFailed(
            refused.message, "nothing was changed: make room, or make the folder writable"
        ) from refused


def _by_name(document: JsonObject, names: Sequence[str], read: JsonObject) -> JsonObject:
    """Return the document of each of the plan's files by name, the manifest last.

    `names` are the files on disk, and `read` is the document that was read from them. Orders keep
    their files until an order is renumbered; then every file is named by its order's id.
    """
    files = [each for each in names if each != MANIFEST_NAME]
    if not files:
        return {MANIFEST_NAME: document}
    orders = _orders(document)
    ids = [each.get("id") for each in orders]
    has_manifest = MANIFEST_NAME in names
    if has_manifest or ids != [each.get("id") for each in _orders(read)]:
        files = [order_file_name(str(each)) for each in ids]
    by_name: dict[str, JsonValue] = dict(zip(files, orders, strict=True))
    return {**by_name, MANIFEST_NAME: document} if has_manifest else by_name


def _orders(document: JsonObject) -> list[JsonObject]:
    match document:
        case {"work_orders": [*orders]}:
            return [each for each in orders if isinstance(each, dict)]
        case _:
            return []


def _encoded(document: JsonValue) -> bytes:
    return render_json(document).encode()
