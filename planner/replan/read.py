"""Reads the plan that another one follows from its folder."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

from planner.plan.plan import Plan, parse_plan, with_history
from planner.replan.predecessor import Predecessor, covers_of
from shared.errors import InvalidInput
from shared.plan_folder.edited import accept_edits
from shared.plan_folder.read import read_stored_plan
from shared.work_order.schemas import order_number


def read_predecessor(
    folder: Path, landed: Collection[str], left_out: Collection[str] = ()
) -> Predecessor:
    """Return the plan in `folder`, as a plan that follows it sees it.

    `landed` are the ids of the orders that the branch has, and `left_out` those of orders that a
    person left out. Raises `InvalidInput` where there is no plan or no manifest, where the plan was
    edited, cannot be read, or names no requirements that its orders carry out.
    """
    stored = read_stored_plan(folder)
    if stored.manifest is None:
        raise InvalidInput(
            f"the plan in {folder} has no manifest, so no other plan can follow it",
            "name the folder that `llmch plan` wrote",
        )
    facts = stored.manifest.facts
    if facts is None:
        raise InvalidInput(
            f"the plan in {folder} was edited: its hash is not the one that it states",
            f"take the edits over first: `{accept_edits(folder)}`",
        )
    plan = parse_plan(stored.document)
    _refuse_unreadable(plan, folder)
    _refuse_untraced(plan, folder)
    return Predecessor(folder, facts, with_history(plan, landed), frozenset(left_out))


def _refuse_unreadable(plan: Plan, folder: Path) -> None:
    ids = [each.label for each in plan.drafts]
    well_formed = all(each.order and order_number(each.label) for each in plan.drafts)
    if plan.problems or not well_formed or len(set(ids)) < len(ids):
        raise InvalidInput(
            f"the plan in {folder} cannot be read",
            f"`llmch check {shlex.quote(str(folder))}` says why",
        )


def _refuse_untraced(plan: Plan, folder: Path) -> None:
    """Refuse a plan that does not say which order carries out which requirement."""
    if not plan.requirements or not any(covers_of(each) for each in plan.drafts):
        raise InvalidInput(
            f"the orders of the plan in {folder} name no requirements of a specification",
            "plan the whole specification anew, without --from; with --require-coverage, each "
            "order names what it carries out",
        )
