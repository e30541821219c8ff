"""Finds the orders of a plan that carry out each requirement, and what asserts it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from planner.judging.asserting import assertions_of
from planner.plan.folder import read_plan_folder
from planner.plan.plan import Plan
from shared.errors import InvalidInput
from shared.work_order.coverage import Asserted, CoveredRequirement, CoveringOrder
from shared.work_order.schemas import WorkOrder

# Commands of an order run tests again that came shortly before, if any.
_MAX_EARLIER: Final = 200


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
            f"the plan in {folder} cannot be read",
            f"`llmch check {shlex.quote(str(folder))}` says why",
        )
    return coverage_of_plan(plan, commits_of)


def coverage_of_plan(
    plan: Plan, commits_of: Callable[[WorkOrder], tuple[str, ...]] = no_commits
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements of a plan, first those that it lists.

    Others, of a plan that follows another one, were removed from the specification. `commits_of`
    returns the commits that landed an order. Orders that cannot be read are left out.
    """
    follows = plan.succession.supersedes is not None
    orders = [draft.order for draft in plan.drafts if draft.order is not None]
    asserted = tuple(_assertions(orders))
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
                    asserted_by=assertions[name],
                )
                for order, assertions in zip(orders, asserted, strict=True)
                if name in order.covers
            ),
            removed=follows and name not in listed,
        )
        for name in dict.fromkeys([*listed, *named])
    )


def _assertions(orders: Sequence[WorkOrder]) -> Iterator[Mapping[str, Asserted]]:
    """Yield, for each order in turn, what asserts the requirements that it covers."""
    earlier: dict[str, str] = {}
    for order in orders:
        for path in order.removed_files:
            earlier.pop(path, None)
        yield assertions_of(order, dict(islice(reversed(earlier.items()), _MAX_EARLIER)))
        for each in order.acceptance_files:
            earlier.pop(each.path, None)  # so that it comes last
            earlier[each.path] = each.content
