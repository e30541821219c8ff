"""Says which files orders create, change and remove. Pure.

An order may leave a file that it may write as it is, so the answer is what may happen at most.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.work_order.schemas import WorkOrder


class Effect(StrEnum):
    """Name what becomes of a file."""

    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"


_OF_LETTERS = {"A": Effect.NEW, "D": Effect.REMOVED}


@dataclass(frozen=True, slots=True)
class FileEffect:
    """Say what becomes of the file at `path`; `is_test` marks a test that the plan brings along."""

    path: str
    effect: Effect
    is_test: bool = False


def planned_effects(
    orders: Iterable[WorkOrder], present: Collection[str]
) -> tuple[tuple[FileEffect, ...], ...]:
    """Return the effects of each order, made one after the other where `present` are the files."""
    there = set(present)
    return tuple(_effects(order, there) for order in orders)


def _effects(order: WorkOrder, there: set[str]) -> tuple[FileEffect, ...]:
    """Return the effects of one order, and change `there` to the files after it."""
    tests = {each.path for each in order.acceptance_files}
    written = dict.fromkeys((*order.allowed_files, *tests_of(order)))
    found = [
        FileEffect(path, Effect.CHANGED if path in there else Effect.NEW, path in tests)
        for path in written
    ]
    removed = [path for path in dict.fromkeys(order.removed_files) if path not in written]
    there.update(written)
    there.difference_update(removed)
    return (*found, *(FileEffect(path, Effect.REMOVED) for path in removed))


def landed_effects(order: WorkOrder, made: Mapping[str, str]) -> tuple[FileEffect, ...]:
    """Return what a commit that landed an order did to the order's own files.

    `made` has git's letter for each path that the commit changed.
    """
    tests = set(tests_of(order))
    own = dict.fromkeys((*order.allowed_files, *tests_of(order), *order.removed_files))
    return tuple(
        FileEffect(path, _OF_LETTERS.get(made[path], Effect.CHANGED), path in tests)
        for path in own
        if path in made
    )


def tests_of(order: WorkOrder) -> tuple[str, ...]:
    """Return the paths of the tests that the plan brings along for an order."""
    return tuple(each.path for each in order.acceptance_files)


def count_effects(
    effects: Iterable[Sequence[FileEffect]], present: Collection[str]
) -> Mapping[Effect, int]:
    """Return how many files are new, changed and removed once all orders are made.

    A file that one order creates and a later one changes is new; one that is created and removed
    again counts for nothing.
    """
    last = {each.path: each.effect for order in effects for each in order}
    there = frozenset(present)
    counts = dict.fromkeys(Effect, 0)
    for path, effect in last.items():
        if effect is Effect.REMOVED:
            counts[Effect.REMOVED] += path in there
        else:
            counts[Effect.CHANGED if path in there else Effect.NEW] += 1
    return counts
