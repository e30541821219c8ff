"""Decides what a changed specification lets a new plan change. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from planner.plan.plan import Draft
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
    def replaceable(self) -> tuple[str, ...]:
        """Return the ids of the orders that may be replaced.

        These have not landed, and cover a requirement that changed or was removed.
        """
        return tuple(each for each, draft in self._open() if self._is_touched(covers_of(draft)))

    @property
    def withdrawable(self) -> tuple[str, ...]:
        """Return the ids of the orders that may be withdrawn.

        These have not landed, and all that they cover was removed.
        """
        removed = self.removed_ids
        return tuple(
            each
            for each, draft in self._open()
            if covers_of(draft) and removed >= {*covers_of(draft)}
        )

    def _open(self) -> Collection[tuple[str, Draft]]:
        return [each for each in self.predecessor.drafts.items() if not each[1].landed]

    def _is_touched(self, covers: Collection[str]) -> bool:
        return not self.touched_ids.isdisjoint(covers)
