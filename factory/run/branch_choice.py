"""Chooses the branch for orders that no branch is named for."""

from __future__ import annotations

from collections.abc import Sequence

from factory.orders.branch_name import branch_of_earlier_versions, default_branch
from factory.orders.read import LoadedOrder
from shared.git import refs
from shared.git.client import Git


def choose_branch(git: Git, orders: Sequence[LoadedOrder]) -> str:
    """Return the branch for orders that no branch is named for.

    A plan that was begun on the branch of an earlier version goes on there.
    """
    branch, before = default_branch(orders), branch_of_earlier_versions(orders)
    begun = before and refs.tip_of_branch(git, before)
    return before if begun and not refs.tip_of_branch(git, branch) else branch
