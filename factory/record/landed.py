"""Finds the commits of a branch by which the orders of a plan have landed.

A commit names its order in its trailers, and they survive a rebase, a merge and most squashes.
Where they are gone, the commits that once landed, as the branch's reflog and the notes have them,
are compared with the branch by what they change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from factory.orders.branch_name import branch_of_earlier_versions, default_branch
from factory.orders.identity import NOTES_REF, OrderIdentity, identities, landed_orders
from factory.orders.read import LoadedOrder
from factory.record.moved_back import was_moved_back
from shared.git import commits, patches, refs
from shared.git.client import Git
from shared.git.commits import LoggedCommit

_SEARCHED = 10_000  # commits of the branch, newest first
_COMPARED = 500  # commits whose changes are compared: git writes each as a patch
_REFLOG = 1_000


@dataclass(frozen=True, slots=True)
class LostOrder:
    """Name an order that had landed on the branch, and its commit, which the branch lost."""

    order: str
    commit: str


@dataclass(frozen=True, slots=True)
class LandedOrders:
    """Hold which orders of a plan a branch has.

    `first_parents` are the branch's commits along first parents, newest first. `landed` has the
    commit of each order that has landed, by the order's id. `by_content` are the ids of those whose
    commit does not name them. `of_plans` has the commits of all orders of the plan and of those
    that it follows, each with the hash of its plan. `lost` are the orders whose commits the branch
    lost without being moved back; `compared` says with how many commits they were compared.
    """

    first_parents: tuple[str, ...] = ()
    landed: Mapping[str, str] = field(default_factory=dict)
    of_plans: Mapping[str, str] = field(default_factory=dict)
    by_content: tuple[str, ...] = ()
    lost: tuple[LostOrder, ...] = ()
    compared: int = 0

    def with_accepted(self, commits: Mapping[str, str]) -> LandedOrders:
        """Return the same with the commits of persons that stand for orders, by the order's id."""
        lost = tuple(each for each in self.lost if each.order not in commits)
        return replace(self, landed={**commits, **self.landed}, lost=lost)


def plan_branch(git: Git, orders: Sequence[LoadedOrder]) -> str:
    """Return the branch for orders that no branch is named for.

    A plan that was begun on the branch of an earlier version goes on there.
    """
    branch, before = default_branch(orders), branch_of_earlier_versions(orders)
    begun = before and refs.commit_of(git, f"refs/heads/{before}")
    return before if begun and not refs.commit_of(git, f"refs/heads/{branch}") else branch


def landed_on(
    git: Git, orders: Sequence[LoadedOrder], branch: str | None = None
) -> Mapping[str, str]:
    """Return the commits of those `orders` that have landed on the branch, by the orders' ids.

    Without `branch`, it is the branch that `run-all` would choose for the plan. A branch that does
    not exist yet would start from HEAD, which may have the orders by a merge.
    """
    name = branch or plan_branch(git, orders)
    tip = refs.tip_of_branch(git, name) or refs.commit_of(git, "HEAD")
    return find_landed(git, name, tip, orders).landed if tip else {}


def landed_otherwise(
    git: Git, orders: Sequence[LoadedOrder], branch: str | None = None
) -> Mapping[str, str]:
    """Return the commits of orders that the plan, or one before it, landed with other contents.

    They are by the orders' ids; an id may be one that `orders` no longer have. The branch is that
    of `landed_on`.
    """
    name = branch or plan_branch(git, orders)
    tip = refs.tip_of_branch(git, name) or refs.commit_of(git, "HEAD")
    history = commits.log(git, tip, limit=_SEARCHED) if tip else ()
    named = landed_orders((each.id, each.message) for each in history)
    same = _by_order(orders, named)
    of_plans = _of_plans(orders, named)
    return {
        each.work_order: commit
        for each, commit in named.items()
        if commit in of_plans and each.work_order not in same
    }


def find_landed(git: Git, branch: str, tip: str, orders: Sequence[LoadedOrder]) -> LandedOrders:
    """Return which of `orders` the branch has, whose last commit is `tip`."""
    history = commits.log(git, tip, limit=_SEARCHED)
    named = landed_orders((each.id, each.message) for each in history)
    landed = _by_order(orders, named)
    of_plans = _of_plans(orders, named)
    first_parents = commits.first_parents(history, tip)
    missing = [each for each in orders if each.order.id not in landed]
    if not missing:
        return LandedOrders(first_parents, landed, of_plans)
    reflog = commits.log_of_ref(git, f"refs/heads/{branch}", limit=_REFLOG)
    on_branch = {each.id for each in history}
    recorded = _on_record(git, reflog, on_branch)
    gone = _by_order(missing, landed_orders((each.id, each.message) for each in recorded))
    if not gone:
        return LandedOrders(first_parents, landed, of_plans)
    alike, compared = _same_changes(git, tip, gone, recorded)
    once_here = {each.id for each in reflog}
    lost = tuple(
        LostOrder(order, commit)
        for order, commit in gone.items()
        if order not in alike
        and commit in once_here
        and not was_moved_back(git, [each.id for each in reflog], commit)
    )
    return LandedOrders(first_parents, {**landed, **alike}, of_plans, tuple(alike), lost, compared)


def _by_order(orders: Iterable[LoadedOrder], named: Mapping[OrderIdentity, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in orders:
        known = (named[one] for one in identities(each.order, each.plan) if one in named)
        if commit := next(known, ""):
            found[each.order.id] = commit
    return found


def _of_plans(
    orders: Sequence[LoadedOrder], named: Mapping[OrderIdentity, str]
) -> Mapping[str, str]:
    plan = orders[0].plan if orders else None
    hashes = {plan.manifest_sha256, *plan.lineage} if plan else set()
    return {commit: each.plan for each, commit in named.items() if each.plan in hashes}


def _on_record(
    git: Git, reflog: Sequence[LoggedCommit], on_branch: set[str]
) -> tuple[LoggedCommit, ...]:
    """Return the commits on record that the branch does not have."""
    known = {each.id: each for each in reflog}
    noted = [each for each in commits.noted(git, NOTES_REF) if each not in on_branch | known.keys()]
    return (
        *(each for each in known.values() if each.id not in on_branch),
        *commits.log_of(git, noted),
    )


def _same_changes(
    git: Git, tip: str, gone: Mapping[str, str], recorded: Sequence[LoggedCommit]
) -> tuple[Mapping[str, str], int]:
    """Return the branch's commits that change what the commits `gone` changed, by order.

    One commit may change what all of them did together. Also returned is the number of commits
    that were compared: those since the branch and the commits parted.
    """
    base = commits.merge_base(git, tip, *gone.values())
    since = commits.ids_since(git, base, tip, limit=_COMPARED)
    if not since:
        return {}, 0
    of_branch = {patch: commit for commit, patch in patches.ids_of(git, since).items()}
    of_gone = patches.ids_of(git, tuple(gone.values()))
    alike = {
        order: of_branch[of_gone[commit]]
        for order, commit in gone.items()
        if of_gone.get(commit) in of_branch
    }
    if not alike and len(gone) > 1:
        together = _changed_together(git, [each for each in recorded if each.id in gone.values()])
        if together in of_branch:
            return dict.fromkeys(gone, of_branch[together]), len(since)
    return alike, len(since)


def _changed_together(git: Git, gone: Sequence[LoggedCommit]) -> str:
    """Return the patch id of all changes of the commits, where each is on the one before it.

    It is "" where they do not follow each other.
    """
    last = {each.id for each in gone} - {parent for each in gone for parent in each.parents}
    first = [each for each in gone if not {*each.parents} & {other.id for other in gone}]
    if len(last) != 1 or len(first) != 1 or not first[0].parents:
        return ""
    return patches.id_between(git, first[0].parents[0], *last)
