"""Leaves out the orders that only set up the verification that the repo already has."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace

from planner.plan.plan import Draft, Plan, parse_plan
from shared.files.strict_json import JsonValue
from shared.work_order.field_path import at
from shared.work_order.parsing import SchemaProblem
from shared.work_order.schemas import VERIFY_SCRIPT, order_id, order_number

_NOTHING_LEFT = SchemaProblem(
    at("work_orders"), f"has no order left: the repo already has {VERIFY_SCRIPT}"
)
_NOTHING_NEEDED = SchemaProblem(
    at("work_orders"), f"has no order left: the repo is verified without {VERIFY_SCRIPT}"
)


def skip_bootstrap(plan: Plan, repo_files: Collection[str], *, verified: bool = False) -> Plan:
    """Return the plan without the orders that create a `scripts/verify.sh` the repo has.

    Where the repo is `verified` by other commands, orders that create nothing but the script are
    left out, and with them the contract that waits for it.

    The orders after them move up: ids, and the ids in `depends_on`, are renumbered in the plan's
    document. Each number falls by the count of dropped orders below it, so that the rules still
    find a gap or a duplicate.
    """
    dropped = left_out(plan, repo_files, verified=verified)
    if not dropped or not isinstance(plan.document, dict):
        return plan
    gone = sorted(_number(draft.label) or draft.position for draft in dropped)
    positions = {draft.position for draft in dropped}
    kept = [
        _moved_up(entry, gone)
        for position, entry in enumerate(_entries(plan.document), 1)
        if position not in positions
    ]
    document = {**plan.document, "work_orders": kept}
    if VERIFY_SCRIPT not in repo_files:
        document["verify_contract"] = None
    shorter = parse_plan(document)
    if kept:
        return shorter
    nothing = _NOTHING_LEFT if VERIFY_SCRIPT in repo_files else _NOTHING_NEEDED
    return replace(shorter, problems=(nothing,))


def left_out(
    plan: Plan, repo_files: Collection[str], *, verified: bool = False
) -> tuple[Draft, ...]:
    """Return the orders of `plan` that `skip_bootstrap` leaves out."""
    if not isinstance(plan.document, dict):
        return ()
    creating = [draft for draft in plan.drafts if _creates_verify_script(draft)]
    if VERIFY_SCRIPT in repo_files:
        return tuple(creating)
    if not verified:
        return ()
    alone = (VERIFY_SCRIPT,)
    return tuple(each for each in creating if each.order and each.order.allowed_files == alone)


def render_left_out(draft: Draft, *, verified: bool = False) -> str:
    """Return a sentence on an order that is left out; it names the files left out with it."""
    title = f" ({draft.order.title})" if draft.order else ""
    files = draft.order.allowed_files if draft.order else ()
    others = ", ".join(sorted({*files} - {VERIFY_SCRIPT}))
    why = "the repo is verified without it" if verified else "which the repo has"
    sentence = f"{draft.label}{title} is left out: it creates {VERIFY_SCRIPT}, {why}"
    return f"{sentence}; these files are not written either: {others}" if others else sentence


def _creates_verify_script(draft: Draft) -> bool:
    """Say whether the order creates the script: it promises it, but does not require or read it.

    An order that removes files as well is still needed.
    """
    if draft.order is None or draft.order.removed_files:
        return False
    known = VERIFY_SCRIPT in draft.order.context_files or any(
        each.kind == "file_exists" and each.path == VERIFY_SCRIPT
        for each in draft.order.preconditions
    )
    return not known and any(each.path == VERIFY_SCRIPT for each in draft.order.postconditions)


def _entries(document: JsonValue) -> list[JsonValue]:
    match document:
        case {"work_orders": [*entries]}:
            return entries
        case _:
            return []


def _moved_up(entry: JsonValue, gone: Sequence[int]) -> JsonValue:
    if not isinstance(entry, dict):
        return entry
    moved = dict(entry)
    if "id" in moved:
        moved["id"] = _renumbered(moved["id"], gone)
    if isinstance(needed := moved.get("depends_on"), list):
        dropped = set(gone)
        moved["depends_on"] = [
            _renumbered(each, gone) for each in needed if _number(each) not in dropped
        ]
    return moved


def _renumbered(value: JsonValue, gone: Sequence[int]) -> JsonValue:
    number = _number(value)
    return value if number is None else order_id(number - bisect_left(gone, number))


def _number(value: JsonValue) -> int | None:
    return order_number(value) if isinstance(value, str) else None
