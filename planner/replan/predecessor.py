"""Describes the plan that another one follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.plan.plan import Draft, Plan
from shared.plan_folder.read import PlanFacts
from shared.work_order.schemas import Supersedes, order_number


@dataclass(frozen=True, slots=True)
class Predecessor:
    """Hold a valid plan that another one follows, and how far it has been carried out.

    `plan` has the orders as the manifest in `folder` holds them; those that landed are marked.
    `left_out` are the ids of orders that a person left out; they count as not begun.
    """

    folder: Path
    facts: PlanFacts
    plan: Plan
    left_out: frozenset[str] = frozenset()

    @property
    def drafts(self) -> Mapping[str, Draft]:
        """Return the orders by their ids, in sequence."""
        return {each.label: each for each in self.plan.drafts}

    @property
    def landed(self) -> frozenset[str]:
        """Return the ids of the orders that landed."""
        return frozenset(each.label for each in self.plan.drafts if each.landed)

    @property
    def last_number(self) -> int:
        """Return the highest number that an order has or had; withdrawn orders count too."""
        numbers = (order_number(each.label) or 0 for each in self.plan.drafts)
        return max((*numbers, *self.plan.succession.withdrawn_numbers), default=0)

    @property
    def supersedes(self) -> Supersedes:
        """Return what the next plan says of this one."""
        return Supersedes(
            manifest_sha256=self.facts.manifest_sha256,
            earlier=self.facts.lineage,
            title=self.facts.title,
        )


def covers_of(draft: Draft) -> tuple[str, ...]:
    """Return the requirements that an order names; none where the order cannot be read."""
    return draft.order.covers if draft.order is not None else ()
