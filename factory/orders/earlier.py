"""Finds what earlier orders of a plan declare about the files that an order needs or writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shared.work_order.schemas import Interface, WorkOrder


def binding_on(order: WorkOrder, earlier: Sequence[WorkOrder]) -> Iterator[WorkOrder]:
    """Yield the earlier orders that declare or change something in files that `order` may write.

    Each copy keeps only the interfaces for those files.
    """
    paths = {*order.allowed_files, *(each.path for each in order.interfaces)}
    for each in earlier:
        declared = tuple(interface for interface in each.interfaces if interface.path in paths)
        if declared or (each.changes and not paths.isdisjoint(each.allowed_files)):
            yield each.model_copy(update={"interfaces": declared})


def known_to(order: WorkOrder, earlier: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return the declared interfaces of what `order` needs.

    Files that an earlier order or the order itself removes have none. An interface stays word for
    word as declared, unless an earlier order with `changes` may write its file. For those files,
    the interfaces that are in force after all earlier orders are returned instead.
    """
    needed = {*order.context_files, *(each.path for each in order.preconditions)}
    removed = {path for each in (*earlier, order) for path in each.removed_files}
    declared = [
        interface
        for each in earlier
        for interface in each.interfaces
        if (interface.path in needed or each.id in order.depends_on)
        and interface.path not in removed
    ]
    changed = {path for each in earlier if each.changes for path in each.allowed_files}
    stale = changed.intersection(each.path for each in declared)
    if not stale:
        return tuple(declared)
    from shared.languages.registry import LANGUAGES  # most runs never need it

    still = [
        each
        for language in LANGUAGES
        if language.conformance is not None
        for each in language.conformance.contracts_in_force(earlier)
        if each.path in stale
    ]
    return (*(each for each in declared if each.path not in stale), *still)
