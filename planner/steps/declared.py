"""Reads the interfaces that a plan's orders declare, and projects the Python that they make."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.plan.plan import Draft
from planner.plan.promise import promise_of
from shared.languages.python.stubs.contracts import normal_changes
from shared.languages.python.stubs.merge import merge
from shared.languages.python.stubs.stubs import Stub, StubProblem, parse_stub
from shared.languages.python.views.views import Change, ModuleHistory

# A model's reply cannot hold more beside the rest of a plan.
MAX_PLAN_BYTES: Final = 256 * 1024
_TOO_MUCH: Final = f"the stubs of the plan have over {MAX_PLAN_BYTES} bytes together"


@dataclass(frozen=True, slots=True)
class DeclaredInterface:
    """Represent one entry of an order's `interfaces`, at `index`, with its stub parsed."""

    index: int
    path: str
    stub: Stub | StubProblem


def read_interfaces(drafts: Sequence[Draft]) -> list[tuple[DeclaredInterface, ...]]:
    """Return the interfaces of each order; none where the order does not fit the schema.

    Once the stubs of a plan exceed `MAX_PLAN_BYTES` together, each further stub is a problem.
    """
    room = MAX_PLAN_BYTES
    found: list[tuple[DeclaredInterface, ...]] = []
    for draft in drafts:
        declared: list[DeclaredInterface] = []
        for index, each in enumerate(draft.order.interfaces if draft.order is not None else ()):
            room -= len(each.stub)
            stub = parse_stub(each.stub) if room >= 0 else StubProblem(_TOO_MUCH)
            declared.append(DeclaredInterface(index, each.path, stub))
        found.append(tuple(declared))
    return found


def changed_names(draft: Draft) -> frozenset[str]:
    """Return the names in the order's `changes`."""
    return normal_changes(draft.order.changes if draft.order is not None else ())


def fold_history(
    drafts: Sequence[Draft],
    interfaces: Sequence[Sequence[DeclaredInterface]],
    files: Collection[str],
    sources: Mapping[str, str],
) -> ModuleHistory:
    """Return the project's Python after each order, as every version of Python reads it."""
    changes = [_change(*each) for each in zip(drafts, interfaces, strict=True)]
    return ModuleHistory(files, sources, changes, portable=True)


def _change(draft: Draft, interfaces: Sequence[DeclaredInterface]) -> Change:
    promise = promise_of(draft)
    stubs: dict[str, list[ast.stmt]] = {}
    for each in interfaces:
        if isinstance(each.stub, Stub):
            stubs[each.path] = merge(stubs.get(each.path, ()), each.stub.tree.body)
    return Change(
        writes=frozenset((*promise.files, *promise.possible)),
        stubs=stubs,
        changed=changed_names(draft),
    )
