"""Checks that a proposal, made on the order's base, can be applied to the commit it is to follow.

An order begins on the commit of the last order that it needs, and its own commit follows whatever
lands before it. Where these two differ in what the order changes or relies on, the order is made
again on the newer one, because its model was shown something else.
"""

from __future__ import annotations

from dataclasses import replace

from factory.attempt.placing import CannotPlace, acceptance_writes
from factory.attempt.preconditions import find_unmet
from factory.attempt.removing import CannotRemove, check_removable
from factory.attempt.state import Attempt, FactoryContext
from factory.repo.path_names import name_paths


class DoesNotFit(Exception):
    """Say why the proposal has to be made again on the commit that it is to follow."""


def fit_to_parent(attempt: Attempt, context: FactoryContext) -> Attempt:
    """Return the attempt as it is on the parent, whose files the workspace holds.

    Raises `DoesNotFit` if a file that the order writes is not what the model was shown, a file that
    it removes is gone, or a precondition does not hold any more.
    """
    order, tree = context.order, context.workspace.tree
    if unmet := find_unmet(order, tree):
        raise DoesNotFit(unmet)
    changed = [
        each.path
        for each in attempt.shown
        if each.path in order.allowed_files and tree.state_of(each.path) != each.state
    ]
    if changed:
        raise DoesNotFit(f"what landed since changes the same files: {name_paths(changed)}")
    try:
        check_removable(order, tree)
        return replace(attempt, placed=acceptance_writes(context.task.loaded, tree))
    except (CannotRemove, CannotPlace) as refused:
        raise DoesNotFit(str(refused)) from None
