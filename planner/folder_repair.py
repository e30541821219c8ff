"""Puts a mended plan in the place of the one that lies on disk, its manifest kept in agreement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from planner.manifest import Entry, reseal
from planner.manifest_folder import list_plan_files
from planner.plan import Plan
from planner.projection import exempted_orders
from shared.atomic_io import render_json, replace_files
from shared.errors import CommandFailed
from shared.schemas import MANIFEST_NAME
from shared.strict_json import JsonValue


def rewrite_plan_folder(
    folder: Path, before: Plan, after: Plan, repo_files: Collection[str] | None = None
) -> None:
    """Replace the files of the plan `before`, as it was read from `folder`, by those of `after`.

    Files that would say the same as now are left alone. A manifest gets a hash that recomputes,
    and exemptions as they follow from the orders; without `repo_files` none is added, since the
    repo may have what verification needs. Raises `CommandFailed` where the disk refuses: then
    nothing has changed.
    """
    names = list_plan_files(folder)
    old, new = _document(before), _document(after)
    if MANIFEST_NAME in names:
        new = reseal(new, _exemptions(after, new, repo_files))
    then = _by_name(old, names, old)
    now = _by_name(new, names, old)
    changed = {
        name: render_json(each).encode() for name, each in now.items() if then.get(name) != each
    }
    try:
        replace_files(folder, changed, sorted(then.keys() - now.keys()))
    except CommandFailed as refused:
        raise CommandFailed(
            refused.message, "nothing was changed: make room, or the folder writable"
        ) from refused


def _document(plan: Plan) -> Entry:
    assert isinstance(plan.document, dict), "nothing else is ever mended"
    return plan.document


def _orders(document: Entry) -> list[Entry]:
    orders = document["work_orders"]
    assert isinstance(orders, list), "a mended plan has orders"
    return [each for each in orders if isinstance(each, dict)]


def _exemptions(plan: Plan, document: Entry, repo_files: Collection[str] | None) -> Sequence[bool]:
    """Return which orders are exempt: as computed, as far as all that decides it is known."""
    was = [order.get("verify_exempt") is True for order in _orders(document)]
    if not all(draft.order for draft in plan.drafts):
        return [False for _ in was]
    computed = [order.verify_exempt for order in exempted_orders(plan, repo_files or ())]
    may_gain = repo_files is not None and isinstance(document.get("provenance"), dict)
    return [now and (may_gain or old) for old, now in zip(was, computed, strict=True)]


def _by_name(document: Entry, names: Sequence[str], read: Entry) -> dict[str, JsonValue]:
    """Return what each file of the plan holds, the manifest last.

    `names` are the files that are there, and `read` is what was read from them. Orders keep their
    files, whatever they are called, until one of them is renumbered.
    """
    files = [each for each in names if each != MANIFEST_NAME]
    ids = [each.get("id") for each in _orders(document)]
    if not files:
        return {MANIFEST_NAME: document}
    if MANIFEST_NAME in names or ids != [each.get("id") for each in _orders(read)]:
        files = [f"{each}.json" for each in ids]
    by_name: dict[str, JsonValue] = dict(zip(files, _orders(document), strict=True))
    return {**by_name, MANIFEST_NAME: document} if MANIFEST_NAME in names else by_name
