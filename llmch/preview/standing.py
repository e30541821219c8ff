"""Finds out where the orders of a plan stand on a branch: landed, to be done, or left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from factory.orders.read import LoadedOrder
from factory.record.landed import LandedOrders, find_landed
from factory.record.plan_decisions import accepted_commits, decisions_of, left_out
from shared.git import refs
from shared.git.client import Git


class OrderStand(StrEnum):
    """Name where an order stands."""

    LANDED = "landed"
    ACCEPTED = "accepted"
    LEFT_OUT = "left_out"
    TO_DO = "to_do"

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


def read_standings(
    git: Git, common_dir: Path, branch: str, orders: Sequence[LoadedOrder]
) -> Mapping[str, OrderStanding]:
    """Return, by order id, where orders stand on a branch.

    `common_dir` is the git folder of the repo, which holds what a person decided. Orders that
    nothing is known of are left out: they are to be done.
    """
    tip = refs.tip_of_branch(git, branch)
    landed = find_landed(git, branch, tip, orders) if tip else LandedOrders()
    decisions = decisions_of(common_dir, branch, orders)
    accepted = accepted_commits(decisions, landed.first_parents)
    return {
        **{
            name: OrderStanding(OrderStand.LEFT_OUT, reason=reason)
            for name, reason in left_out(decisions).items()
        },
        **{name: OrderStanding(OrderStand.ACCEPTED, commit) for name, commit in accepted.items()},
        **{
            name: OrderStanding(OrderStand.LANDED, commit) for name, commit in landed.landed.items()
        },
    }
