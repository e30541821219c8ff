"""Finds the decisions about the orders of a plan on one branch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from factory.orders.decision import Decision, DecisionKey
from factory.orders.read import LoadedOrder
from factory.record.decided import read_decisions
from shared.work_order.hashing import order_key
from shared.work_order.schemas import WorkOrder


def decision_key(loaded: LoadedOrder, branch: str) -> DecisionKey:
    """Return what a decision about an order is found by, as long as its wording stays."""
    return key_in_plan(loaded.order, loaded.plan.root if loaded.plan else "", branch)


def key_in_plan(order: WorkOrder, root: str, branch: str) -> DecisionKey:
    """Return the key of an order whose oldest plan has the hash `root`, "" if it has no plan."""
    return DecisionKey(branch, root, order.id, order_key(order))


def decisions_of(
    common_dir: Path, branch: str, orders: Iterable[LoadedOrder]
) -> Mapping[str, Decision]:
    """Return the decisions about a plan's orders on a branch, by the order's id.

    Orders without a decision are left out. Raises as `read_decisions` does.
    """
    known = read_decisions(common_dir)
    if not known:
        return {}
    keys = {each.order.id: decision_key(each, branch) for each in orders}
    return {name: known[key] for name, key in keys.items() if key in known}


def with_hints(
    orders: Sequence[LoadedOrder], decisions: Mapping[str, Decision]
) -> tuple[LoadedOrder, ...]:
    """Return the orders, each with the hint that holds for it."""
    return tuple(
        replace(each, hint=decisions[each.order.id].hint) if each.order.id in decisions else each
        for each in orders
    )


def accepted_commits(
    decisions: Mapping[str, Decision], on_branch: Collection[str]
) -> Mapping[str, str]:
    """Return the commits that stand for orders, by id, as far as they are on the branch."""
    return {
        name: each.accepted.commit
        for name, each in decisions.items()
        if each.accepted is not None and each.accepted.commit in on_branch
    }


def left_out(decisions: Mapping[str, Decision]) -> Mapping[str, str]:
    """Return the reasons of the orders that are left out, by id."""
    return {name: each.left_out for name, each in decisions.items() if each.left_out}


def is_settled(decision: Decision | None) -> bool:
    """Return whether an order is not to be made: a commit stands for it, or it is left out."""
    return decision is not None and bool(decision.left_out or decision.accepted)
