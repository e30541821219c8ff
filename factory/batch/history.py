"""Finds which orders of a plan a branch already holds, and where the rest of the plan begins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile

from factory.orders.identity import OrderIdentity, landed_orders
from factory.repo.preflight import TargetBranch
from shared.git import commits
from shared.git.client import Git

_SEARCHED = 10_000  # commits of the branch, newest first


@dataclass(frozen=True, slots=True)
class BranchHistory:
    """Hold the commits of a branch, newest first (none where the branch does not exist yet)."""

    tip: str
    commits: tuple[str, ...]
    landed: Mapping[OrderIdentity, str]
    """For each order whose identity a commit message names, that commit."""

    def continued(self, own: Collection[str]) -> tuple[str, tuple[str, ...]]:
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


def read_history(git: Git, target: TargetBranch) -> BranchHistory:
    """Return the commits of the target branch, and the orders that they landed."""
    if not target.exists:
        return BranchHistory(target.tip, (), {})
    messages = commits.messages(git, target.tip, limit=_SEARCHED)
    ids = tuple(commit for commit, _ in messages)
    return BranchHistory(target.tip, ids, landed_orders(messages))
