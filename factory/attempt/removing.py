"""Takes the files that an order removes out of the tree, before a model is asked."""

from __future__ import annotations

from typing import Final

from factory.orders.documents import FailureBrief, WriteProposal
from factory.proposal.removed import name_removed
from factory.proposal.scope import DESCRIPTIONS, FileKind
from factory.workbench.tree import NotReadable, Tree
from shared.errors import CommandFailed
from shared.files.atomic_io import write_refused
from shared.work_order.schemas import WorkOrder

# A link is removed itself, and never what it points to.
_REMOVABLE: Final = frozenset({FileKind.FILE, FileKind.LINK})


class CannotRemove(Exception):
    """Say why a file cannot be removed: the plan is wrong, not the code."""


def removals_alone(order: WorkOrder) -> WriteProposal:
    """Return what stands for a model's proposal where an order only removes files."""
    summary = f"Removes {', '.join(name_removed(order.removed_files))}."
    return WriteProposal(summary=summary, writes=())


def with_remedy(brief: FailureBrief, order: WorkOrder) -> FailureBrief:
    """Return the brief, with what a person can do where no model is asked for another proposal."""
    if order.asks_model or brief.remedy or not brief.stage.retryable:
        return brief
    remedy = (
        f"{order.id} only removes files, so no model is asked: list in its `allowed_files` what "
        "has to change with them, and take the edit by `llmch check PLAN --accept-edits`"
    )
    return brief.model_copy(update={"remedy": remedy})


def remove_files(order: WorkOrder, tree: Tree) -> None:
    """Remove the order's `removed_files` from `tree`, as it is before the order.

    Raises `CannotRemove` where one of them is not a file there, before any is removed, and
    `CommandFailed` where the disk refuses.
    """
    check_removable(order, tree)
    keep_removed(order, tree)


def check_removable(order: WorkOrder, tree: Tree) -> None:
    """Raise `CannotRemove` where one of the order's `removed_files` is not a file in `tree`."""
    for path in order.removed_files:
        kind = tree.kind_of(path)
        if kind not in _REMOVABLE:
            raise CannotRemove(
                f"the order removes {path!r}, which {DESCRIPTIONS[kind]} at this point of the "
                "chain. The plan is wrong, not the code."
            )


def keep_removed(order: WorkOrder, tree: Tree) -> None:
    """Remove those of the order's `removed_files` that are there again.

    The trial runs before a proposal is applied leave the tree as it was before the order. Raises
    `CommandFailed` where the disk refuses.
    """
    for path in order.removed_files:
        try:
            tree.remove(path)
        except NotReadable as refused:
            raise CommandFailed(
                f"cannot remove {tree.root / path}: it {DESCRIPTIONS[refused.kind]}",
                "find out which process uses the workspace; the next run makes a new one",
            ) from None
        except OSError as error:
            raise write_refused(tree.root / path, error) from error
