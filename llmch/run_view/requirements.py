"""Finds what carries out each requirement of a run: orders, tests and commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from llmch.run_view.fields import Fields
from llmch.run_view.model.orders import OrderView
from planner.judging.requirement_coverage import coverage_of_folder
from shared.errors import LlmchError
from shared.work_order.coverage import CoveredRequirement, CoveringOrder


def requirements_of(head: Fields, orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    """Return the requirements with their orders, and the commits of those that are on the branch.

    Without the plan, only those are known that an order on record names, and no text of them.
    """
    by_id = {each.id: each for each in orders}
    return tuple(_with_commits(row, by_id) for row in _rows(head, orders))


def _rows(head: Fields, orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    if folder := head.path("workdir"):
        try:
            return coverage_of_folder(folder)
        except LlmchError:
            pass
    return _named_by(orders)


def requirements_of_orders(orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    """Return the requirements that orders name, with their commits and without any text."""
    by_id = {each.id: each for each in orders}
    return tuple(_with_commits(row, by_id) for row in _named_by(orders))


def _named_by(orders: Sequence[OrderView]) -> tuple[CoveredRequirement, ...]:
    found: dict[str, list[CoveringOrder]] = {}
    for order in orders:
        for name in order.covers:
            covering = CoveringOrder(order.id, order.title, order.acceptance_commands)
            found.setdefault(name, []).append(covering)
    return tuple(CoveredRequirement(name, orders=tuple(each)) for name, each in found.items())


def _with_commits(row: CoveredRequirement, orders: Mapping[str, OrderView]) -> CoveredRequirement:
    return replace(row, orders=tuple(_with_commit(each, orders) for each in row.orders))


def _with_commit(covering: CoveringOrder, orders: Mapping[str, OrderView]) -> CoveringOrder:
    order = orders.get(covering.id)
    if order is None or not order.commit or not order.is_on_branch:
        return covering
    return replace(covering, commits=(order.commit,), proofs=(order.proof,))
