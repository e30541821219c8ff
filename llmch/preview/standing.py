"""Finds out where the orders of a plan stand on a branch: landed, to be done, or left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from factory.orders.branch_name import branch_of_earlier_versions, default_branch
from factory.orders.identity import OrderIdentity, landed_orders
from factory.orders.read import LoadedOrder
from shared.git import commits, refs
from shared.git.client import Git
from shared.work_order.hashing import order_key

_SEARCHED: Final = 10_000  # commits of the branch, newest first


class OrderStand(StrEnum):
    """Name where an order stands."""

    TO_DO = "to_do"
    LANDED = "landed"
    ACCEPTED = "accepted"
    LEFT_OUT = "left_out"

    @property
    def words(self) -> str:
        """Return the name as people read it."""
        return self.value.replace("_", " ")

    @property
    def on_branch(self) -> bool:
        """Say whether the branch has what the order was for."""
        return self in (OrderStand.LANDED, OrderStand.ACCEPTED)


@dataclass(frozen=True, slots=True)
class OrderStanding:
    """Hold where an order stands, the commit that stands for it, and a person's reason."""

    stand: OrderStand = OrderStand.TO_DO
    commit: str = ""
    reason: str = ""


NOT_BEGUN: Final = OrderStanding()


def plan_branch(git: Git, orders: Sequence[LoadedOrder]) -> str:
    """Return the branch that `run-all` would choose for `orders`, of which there is at least one.

    A plan that was begun on the branch of an earlier version goes on there.
    """
    branch, before = default_branch(orders), branch_of_earlier_versions(orders)
    begun = before and refs.tip_of_branch(git, before)
    return before if begun and not refs.tip_of_branch(git, branch) else branch


def read_standings(
    git: Git, branch: str, orders: Sequence[LoadedOrder]
) -> Mapping[str, OrderStanding]:
    """Return, by order id, where orders stand on a branch.

    Orders that nothing is known of are left out: they are to be done.
    """
    tip = refs.tip_of_branch(git, branch)
    if not tip:
        return {}
    landed = landed_orders(commits.messages(git, tip, limit=_SEARCHED))
    found = ((each.order.id, _commit_of(each, landed)) for each in orders)
    return {name: OrderStanding(OrderStand.LANDED, commit) for name, commit in found if commit}


def _commit_of(loaded: LoadedOrder, landed: Mapping[OrderIdentity, str]) -> str:
    """Return the commit that landed an order, for its plan or one that the plan follows."""
    name, key = loaded.order.id, order_key(loaded.order)
    plans = (loaded.plan.manifest_sha256, *loaded.plan.lineage) if loaded.plan else ("",)
    found = (landed.get(OrderIdentity(name, key, plan)) for plan in plans)
    return next(filter(None, found), "")
