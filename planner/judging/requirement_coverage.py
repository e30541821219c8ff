"""Finds the orders of a plan that carry out each requirement, and what asserts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planner.judging.asserting import asserted_by
from planner.plan.folder import read_plan_folder
from planner.plan.plan import Plan
from shared.errors import InvalidInput
from shared.work_order.coverage import CoveredRequirement, CoveringOrder
from shared.work_order.schemas import WorkOrder


def no_commits(order: WorkOrder) -> tuple[str, ...]:
    """Return no commits, for any order; this serves where no repo was given."""
    return ()


def coverage_of_folder(
    folder: Path, commits_of: Callable[[WorkOrder], tuple[str, ...]] = no_commits
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements of the plan in `folder`, as `coverage_of_plan` does.

    Raises `InvalidInput` where there is no plan, or where a part of the plan cannot be read.
    """
    plan = read_plan_folder(folder)
    if plan.problems or any(draft.order is None for draft in plan.drafts):
        raise InvalidInput(
            f"the plan in {folder} cannot be read", f"`llmch check {folder}` says why"
        )
    return coverage_of_plan(plan, commits_of)


def coverage_of_plan(
    plan: Plan, commits_of: Callable[[WorkOrder], tuple[str, ...]] = no_commits
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements of a plan, first those that it lists.

    `commits_of` returns the commits that landed an order. Orders that cannot be read are left out.
    """
    orders = [draft.order for draft in plan.drafts if draft.order is not None]
    listed = {each.id: each for each in plan.requirements}
    named = {name: None for order in orders for name in order.covers}
    return tuple(
        CoveredRequirement(
            name,
            listed[name].text if name in listed else "",
            listed[name].line if name in listed else None,
            tuple(
                CoveringOrder(
                    order.id,
                    order.title,
                    order.acceptance_commands,
                    commits_of(order),
                    asserted_by(order, name, orders[:place]),
                )
                for place, order in enumerate(orders)
                if name in order.covers
            ),
        )
        for name in dict.fromkeys([*listed, *named])
    )
