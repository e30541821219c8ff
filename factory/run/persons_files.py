"""Refuses a run whose orders would write over files that a person has not committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from factory.orders.read import LoadedOrder
from factory.repo.in_the_way import untracked_in_the_way
from factory.repo.path_names import name_paths
from factory.repo.preflight import Repo, TargetBranch, checkout_of
from shared.errors import PreflightRefused
from shared.git import worktrees


def refuse_files_in_the_way(
    repo: Repo, target: TargetBranch, orders: Sequence[LoadedOrder]
) -> None:
    """Raise `PreflightRefused` if untracked files stand where orders write.

    Looked at are the checkout, whose owner would lose them on switching to the branch, and the
    working tree that has the branch checked out.
    """
    for tree in _trees(repo, target):
        git = repo.git.at(tree)
        if found := untracked_in_the_way(git, _written_by(orders)):
            raise PreflightRefused(
                f"{tree} has untracked files where orders would write: {name_paths(found)}",
                "commit these files, so that the orders see them, or move them elsewhere",
            )


def _trees(repo: Repo, target: TargetBranch) -> tuple[Path, ...]:
    checkout = checkout_of(target.branch, worktrees.checkouts(repo.git)) if target.exists else None
    return (repo.tree,) if checkout is None else tuple({repo.tree: 0, checkout.path: 0})


def _written_by(orders: Iterable[LoadedOrder]) -> frozenset[str]:
    placed = (file.path for each in orders for file in each.order.acceptance_files)
    return frozenset((*(path for each in orders for path in each.order.allowed_files), *placed))
