"""What a branch holds of a plan already, and where the rest of the plan goes on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile

from factory.orders.identity import OrderIdentity, landed_orders
from factory.repo.preflight import TargetBranch
from shared.git.client import Git

_SEARCHED = 10_000  # commits of the branch, newest first


@dataclass(frozen=True, slots=True)
class BranchHistory:
    """The commits of a branch, newest first (none where it does not exist yet)."""

    tip: str
    commits: tuple[str, ...]
    landed: Mapping[OrderIdentity, str]
    """The commit of each order that says it is one."""

    def continued(self, own: Collection[str]) -> tuple[str, tuple[str, ...]]:
        """Return where orders begin that need none of `own`, and which of `own` came after that.

        They begin at the newest commit that is not one of the plan's: where its first order began,
        also after a restart, or what somebody added since, which may be the very thing that was
        missing. At the tip where history is cut off (a shallow clone) before such a commit.
        """
        newest = tuple(takewhile(own.__contains__, self.commits))
        if len(newest) == len(self.commits):
            return self.tip, ()
        return self.commits[len(newest)], newest[::-1]


def read_history(git: Git, target: TargetBranch) -> BranchHistory:
    """Return what the target branch holds."""
    if not target.exists:
        return BranchHistory(target.tip, (), {})
    messages = git.messages(target.tip, limit=_SEARCHED)
    commits = tuple(commit for commit, _ in messages)
    return BranchHistory(target.tip, commits, landed_orders(messages))
