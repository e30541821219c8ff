"""Leaving out the orders that set up what the repo already has."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace

from planner.plan import Draft, Plan, parse_draft
from shared.schemas import VERIFY_SCRIPT, SchemaProblem, order_id, order_number
from shared.strict_json import JsonValue


def skip_bootstrap(plan: Plan, repo_files: Collection[str]) -> Plan:
    """Return the plan without the orders that create a `scripts/verify.sh` the repo has.

    The orders after them move up: ids, and the ids in `depends_on`, are renumbered. Each number
    falls by the count of dropped orders below it, so that a gap or a duplicate stays to be found.
    """
    if VERIFY_SCRIPT not in repo_files:
        return plan
    dropped = [draft for draft in plan.drafts if _creates_verify_script(draft)]
    if not dropped:
        return plan
    gone = sorted(number for draft in dropped if (number := _number(draft.raw.get("id"))))
    kept = [draft for draft in plan.drafts if draft not in dropped]
    problems = plan.problems
    if not kept:
        message = f"has no order left: the repo already has {VERIFY_SCRIPT}"
        problems += (SchemaProblem("work_orders", message),)
    drafts = tuple(_moved_up(position, draft, gone) for position, draft in enumerate(kept, 1))
    return replace(plan, drafts=drafts, problems=problems)


def _creates_verify_script(draft: Draft) -> bool:
    if draft.order is None:
        return False
    changes = any(
        each.kind == "file_exists" and each.path == VERIFY_SCRIPT
        for each in draft.order.preconditions
    )
    return not changes and any(each.path == VERIFY_SCRIPT for each in draft.order.postconditions)


def _moved_up(position: int, draft: Draft, gone: Sequence[int]) -> Draft:
    if not draft.is_object:
        return parse_draft(position, None)
    raw = dict(draft.raw)
    if "id" in raw:
        raw["id"] = _renumbered(raw["id"], gone)
    if isinstance(needed := raw.get("depends_on"), list):
        raw["depends_on"] = [
            _renumbered(each, gone) for each in needed if _number(each) not in gone
        ]
    return parse_draft(position, raw)


def _renumbered(value: JsonValue, gone: Sequence[int]) -> JsonValue:
    number = _number(value)
    return value if number is None else order_id(number - bisect_left(gone, number))


def _number(value: JsonValue) -> int | None:
    return order_number(value) if isinstance(value, str) else None
