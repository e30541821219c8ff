"""Says which orders a run has to make, and refuses where nobody can know. Pure."""

from __future__ import annotations

from factory.orders.read import LoadedOrder
from factory.record.landed import LandedOrders
from factory.run.commission import Commission
from shared.errors import PreflightRefused
from shared.events.event import Emit
from shared.events.messages import Noted


def remaining_orders(commission: Commission, landed: LandedOrders) -> tuple[LoadedOrder, ...]:
    """Return the orders that the run makes: of a plan those that have not landed.

    Raises `PreflightRefused` where the branch lost the commit of an order and nothing on the
    branch changes the same, unless the options allow that the order is made again.
    """
    if commission.command == "run":
        return commission.orders
    if landed.lost and not commission.options.allow_lost:
        raise _lost(commission, landed)
    return tuple(each for each in commission.orders if each.order.id not in landed.landed)


def note_found_by_content(landed: LandedOrders, emit: Emit) -> None:
    """Report the orders whose commits do not name them."""
    for order in landed.by_content:
        commit = landed.landed[order][:12]
        emit(Noted(f"{order} counts as landed: {commit} changes the same, and does not name it"))


def _lost(commission: Commission, landed: LandedOrders) -> PreflightRefused:
    names = ", ".join(f"{each.order} ({each.commit[:12]})" for each in landed.lost)
    first = landed.lost[0].order
    return PreflightRefused(
        f"the branch had commits of orders that it no longer has: {names}; none of the "
        f"{landed.compared} commits compared names these orders or changes the same",
        f"`llmch accept {first} --commit SHA` says which commit has the work of an order now; "
        "--allow-lost makes such orders again",
    )
