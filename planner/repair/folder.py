"""Replaces the plan on disk by a repaired one, and makes the manifest agree with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from planner.plan.manifest import reseal
from planner.plan.plan import Plan
from planner.plan.projection import exempted_orders
from shared.files.strict_json import JsonObject, JsonValue
from shared.plan_folder.names import MANIFEST_NAME, list_plan_files
from shared.plan_folder.write import rewrite_plan, write_edited_plan
from shared.work_order.schemas import MAX_LISTED, BaseFile


def rewrite_plan_folder(
    folder: Path,
    before: Plan,
    after: Plan,
    repo_files: Collection[str] | None = None,
    *,
    verified: bool = False,
) -> None:
    """Replace the files of the plan `before`, as it was read from `folder`, by those of `after`.

    Files whose content stays the same are left alone. A manifest gets a hash that recomputes, and
    the exemptions that follow from its orders. Without `repo_files` no exemption is added, since
    the repo may have what verification needs; none is where it is `verified` by known commands.
    Raises `CommandFailed` where the disk refuses; then
    nothing has changed.
    """
    old, new = _document(before), _document(after)
    if MANIFEST_NAME in list_plan_files(folder):
        new = reseal(new, _exemptions(after, new, repo_files, verified))
    rewrite_plan(folder, old, new)


def write_edits(
    folder: Path,
    read: Mapping[str, JsonValue],
    plan: Plan,
    repo_files: Collection[str] | None,
    base: Sequence[BaseFile] = (),
    *,
    verified: bool = False,
) -> None:
    """Write an edited plan over the documents `read` from `folder`, with a hash that recomputes.

    Exemptions follow as in `rewrite_plan_folder`. Where the plan records files that it was made
    for, those of `base` that it does not name are added. Raises as `rewrite_plan_folder` does.
    """
    document = _document(plan)
    document = reseal(_with_base(document, base), _exemptions(plan, document, repo_files, verified))
    write_edited_plan(folder, read, document)


def _with_base(document: JsonObject, base: Sequence[BaseFile]) -> JsonObject:
    match document:
        case {"base_files": [_, *_] as listed}:
            named = {each.get("path") for each in listed if isinstance(each, dict)}
            new: list[JsonValue] = [
                {"path": each.path, "sha256": each.sha256}
                for each in base
                if each.path not in named
            ]
            return {**document, "base_files": [*listed, *new][:MAX_LISTED]}
        case _:
            return document


def _document(plan: Plan) -> JsonObject:
    assert isinstance(plan.document, dict), "only a plan that is an object is ever repaired"
    return plan.document


def _exemptions(
    plan: Plan, document: JsonObject, repo_files: Collection[str] | None, verified: bool
) -> Sequence[bool]:
    """Return, for each order, whether it is exempt from verification.

    An order gains an exemption only where the repo's files are known and the manifest has
    provenance. No order is exempt where one of them does not parse.
    """
    was = [draft.raw.get("verify_exempt") is True for draft in plan.drafts]
    if not all(draft.order for draft in plan.drafts):
        return [False for _ in was]
    orders = exempted_orders(plan, repo_files or (), verified=verified)
    computed = [order.verify_exempt for order in orders]
    may_gain = repo_files is not None and isinstance(document.get("provenance"), dict)
    return [now and (may_gain or old) for old, now in zip(was, computed, strict=True)]
