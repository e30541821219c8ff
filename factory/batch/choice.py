"""Decides which orders of a plan a run makes, and which a person left out. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from factory.batch.history import BranchHistory
from factory.batch.order_graph import OrderGraph
from factory.orders.decision import Decision
from factory.orders.read import LoadedOrder
from factory.record.plan_decisions import accepted_commits, left_out
from shared.errors import PreflightRefused


@dataclass(frozen=True, slots=True)
class Choice:
    """Hold what a person decided about a plan's orders, by id, and the only order to make.

    Without `only`, all orders are made that have not landed and are not left out.
    """

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    only: str = ""

    def landed(
        self, names: Sequence[str], history: BranchHistory
    ) -> tuple[Mapping[int, str], frozenset[str]]:
        """Return the commits of orders by position, and which of them orders made.

        The latter leaves out what people made: such a commit may hold more than its order, so later
        orders begin from it. Raises `PreflightRefused` where a commit that stands for an order is
        not on the branch: nobody knows then whether the order is still done.
        """
        accepted = self._accepted(history.commits, history.landed)
        found = {n: history.landed[name] for n, name in enumerate(names) if name in history.landed}
        return found, frozenset(found.values()).difference(accepted.values())

    def _accepted(self, on_branch: Collection[str], made: Collection[str]) -> Mapping[str, str]:
        """Return the commits that stand for orders, by id; those `made` need none."""
        found = accepted_commits(self.decisions, on_branch)
        done = {*found, *made}
        for name, each in self.decisions.items():
            asked = not self.only or name == self.only
            if each.accepted is not None and asked and name not in done:
                raise PreflightRefused(
                    f"the commit {each.accepted.commit[:12]}, which stands for {name}, is not on "
                    "the branch",
                    f"name the commit that has its work now by `llmch accept {name} --commit SHA`, "
                    f"or have the order made by `llmch retry {name}`",
                )
        return found

    def left_out(self, orders: Sequence[LoadedOrder], landed: Collection[int]) -> frozenset[int]:
        """Return the positions of the orders that a person left out and that have not landed."""
        reasons = left_out(self.decisions)
        return frozenset(
            position
            for position, each in enumerate(orders)
            if each.order.id in reasons and position not in landed
        )

    def others(self, orders: Sequence[LoadedOrder]) -> frozenset[int]:
        """Return the positions of the orders that this run is not to make."""
        if not self.only:
            return frozenset()
        return frozenset(n for n, each in enumerate(orders) if each.order.id != self.only)

    def shown(self, orders: Sequence[LoadedOrder]) -> tuple[int, ...]:
        """Return the positions of the orders that the run's summary is about."""
        others = self.others(orders)
        return tuple(position for position in range(len(orders)) if position not in others)

    def describe(
        self, graph: OrderGraph, skipped: Collection[int], landed: Collection[int]
    ) -> tuple[str, ...]:
        """Return a line for each left-out order: the reason, and the orders that it blocks."""
        reasons = left_out(self.decisions)
        blocked = {each: sorted(graph.all_dependents(each).difference(landed)) for each in skipped}
        return tuple(
            f"{graph.ids[position]} is left out: {reasons[graph.ids[position]]}"
            f"{_blocking([graph.ids[each] for each in blocked[position]])}"
            for position in sorted(skipped)
        )


def _blocking(names: Sequence[str]) -> str:
    if not names:
        return ""
    need = "needs" if len(names) == 1 else "need"
    return f"; {', '.join(names)} {need} it and cannot be made"
