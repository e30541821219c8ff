"""Checks what an order says of the tree that it begins with. Pure but for looking at the tree."""

from __future__ import annotations

from typing import Final

from factory.proposal.scope import DESCRIPTIONS, FileKind
from factory.workbench.tree import Tree
from shared.work_order.schemas import WorkOrder

_SATISFYING: Final = {
    "file_exists": frozenset({FileKind.FILE, FileKind.LINK}),
    "file_absent": frozenset({FileKind.ABSENT, FileKind.BEHIND_FILE}),
}


def find_unmet(order: WorkOrder, tree: Tree) -> str:
    """Return the first precondition that does not hold in `tree`, and why; "" if all hold."""
    for condition in order.preconditions:
        kind = tree.kind_of(condition.path)
        if kind not in _SATISFYING[condition.kind]:
            return (
                f"precondition {condition.kind} {condition.path!r} does not hold at this point of "
                f"the chain: it {DESCRIPTIONS[kind]}"
            )
    return ""
