"""Decides what a changed specification lets a new plan change. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from planner.replan.predecessor import Predecessor, covers_of
from planner.spec.difference import SpecDifference


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Hold the plan before, and how the specification has changed since."""

    predecessor: Predecessor
    difference: SpecDifference

    @property
    def new_ids(self) -> tuple[str, ...]:
        """Return the requirements that changed or were added."""
        changed = (each.after.id for each in self.difference.changed)
        return (*changed, *(each.id for each in self.difference.added))

    @property
    def removed_ids(self) -> frozenset[str]:
        """Return the requirements that the specification no longer has."""
        return frozenset(each.id for each in self.difference.removed)

    @property
    def touched_ids(self) -> frozenset[str]:
        """Return the requirements that changed, were added or were removed."""
        return self.removed_ids.union(self.new_ids)

    @property
    def covered_before(self) -> frozenset[str]:
        """Return the requirements that an order of the plan before covers."""
        drafts = self.predecessor.plan.drafts
        return frozenset(name for each in drafts for name in covers_of(each))

    @property
    def concerned(self) -> tuple[str, ...]:
        """Return the ids of the orders that cover a requirement which changed or was removed."""
        touched = self.touched_ids
        drafts = self.predecessor.plan.drafts
        return tuple(each.label for each in drafts if not touched.isdisjoint(covers_of(each)))

    @property
    def replaceable(self) -> tuple[str, ...]:
        """Return the ids of the orders that may be replaced: concerned, and not landed."""
        landed = self.predecessor.landed
        return tuple(each for each in self.concerned if each not in landed)

    @property
    def withdrawable(self) -> tuple[str, ...]:
        """Return the ids of the orders that may be withdrawn.

        These have not landed, and all that they cover was removed.
        """
        removed, drafts = self.removed_ids, self.predecessor.drafts
        return tuple(each for each in self.replaceable if removed >= {*covers_of(drafts[each])})
