"""Refuses a run whose orders would write over files that a person has not committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from factory.orders.identity import identify, landed_orders
from factory.orders.read import LoadedOrder
from factory.repo.in_the_way import untracked_in_the_way
from factory.repo.path_names import name_paths
from factory.repo.preflight import Repo, TargetBranch, checkout_of
from shared.errors import PreflightRefused
from shared.git import commits, worktrees

_SEARCHED = 10_000  # commits of the branch, newest first


def refuse_files_in_the_way(
    repo: Repo, target: TargetBranch, orders: Sequence[LoadedOrder], *, skip_landed: bool
) -> None:
    """Raise `PreflightRefused` if untracked files stand where orders write.

    Looked at are the checkout, whose owner would lose them on switching to the branch, and the
    working tree that has the branch checked out. With `skip_landed`, orders that are on the branch
    already do not count.
    """
    for tree in _trees(repo, target):
        git = repo.git.at(tree)
        if not untracked_in_the_way(git, _written_by(orders)):
            continue
        remaining = _not_landed(repo, target, orders) if skip_landed else orders
        if found := untracked_in_the_way(git, _written_by(remaining)):
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


def _not_landed(
    repo: Repo, target: TargetBranch, orders: Sequence[LoadedOrder]
) -> tuple[LoadedOrder, ...]:
    if not target.exists:
        return tuple(orders)
    landed = landed_orders(commits.messages(repo.git, target.tip, limit=_SEARCHED))
    return tuple(
        each
        for each in orders
        if identify(each.order, each.plan.manifest_sha256 if each.plan else "") not in landed
    )
