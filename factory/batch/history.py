"""Finds where the rest of a plan begins on a branch that has some of its orders. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile

from factory.record.landed import LandedOrders


@dataclass(frozen=True, slots=True)
class BranchHistory:
    """Hold the commits of a branch along first parents, newest first.

    A branch that does not exist yet has those of the commit that it will start from.
    """

    tip: str
    commits: tuple[str, ...]
    landed: Mapping[str, str]
    """The commit of each order that has landed, by the order's id."""

    @classmethod
    def of(cls, tip: str, landed: LandedOrders) -> BranchHistory:
        """Return the history of a branch whose last commit is `tip`."""
        return cls(tip, landed.first_parents, landed.landed)

    def start_before(self, own: Collection[str]) -> tuple[str, tuple[str, ...]]:
        """Return where orders begin that need none of `own`, and the commits of `own` after that.

        `own` are the commits of the plan's orders; those after the start are returned oldest first.
        The start is the newest commit that is not one of `own`. It is where the plan's first order
        began, also after a restart, or a commit that somebody added since, which may hold the very
        thing that was missing. Where history is cut off before such a commit (a shallow clone),
        the start is the tip.
        """
        newest = tuple(takewhile(own.__contains__, self.commits))
        if len(newest) == len(self.commits):
            return self.tip, ()
        return self.commits[len(newest)], newest[::-1]
