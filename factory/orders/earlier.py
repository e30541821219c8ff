"""What the orders before it mean for an order: what is declared of what it needs and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shared.work_order.schemas import Interface, WorkOrder


def binding_on(order: WorkOrder, earlier: Sequence[WorkOrder]) -> Iterator[WorkOrder]:
    """Yield what earlier orders declare, and take back, of the files that this one may write."""
    paths = {*order.allowed_files, *(each.path for each in order.interfaces)}
    for each in earlier:
        declared = tuple(interface for interface in each.interfaces if interface.path in paths)
        if declared or (each.changes and not paths.isdisjoint(each.allowed_files)):
            yield each.model_copy(update={"interfaces": declared})


def known_to(order: WorkOrder, earlier: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return what was declared of what an order needs, word for word where it still holds."""
    needed = {*order.context_files, *(each.path for each in order.preconditions)}
    declared = [
        interface
        for each in earlier
        for interface in each.interfaces
        if interface.path in needed or each.id in order.depends_on
    ]
    changed = {path for each in earlier if each.changes for path in each.allowed_files}
    stale = changed.intersection(each.path for each in declared)
    if not stale:
        return tuple(declared)
    from shared.languages.python.stubs.contracts import (
        contracts_in_force,  # most runs have no use for it
    )

    still = [each for each in contracts_in_force(earlier) if each.path in stale]
    return (*(each for each in declared if each.path not in stale), *still)
