"""Decides how the plan's acceptance files are put into the tree, beside what a proposal writes."""

from __future__ import annotations

from factory.orders.documents import FileWrite
from factory.orders.read import LoadedOrder
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState
from factory.proposal.shown import ShownFile
from factory.workbench.tree import Tree
from shared.work_order.hashing import sha256_bytes
from shared.work_order.schemas import AcceptanceFile, WorkOrder


class CannotPlace(Exception):
    """Say why an acceptance file cannot be put in place: the plan is wrong, not the code."""


def acceptance_writes(loaded: LoadedOrder, tree: Tree) -> tuple[FileWrite, ...]:
    """Return what puts the order's acceptance files into `tree`, as it is before the order.

    Raises `CannotPlace` where one would replace something that is no acceptance file of an earlier
    order.
    """
    return tuple(
        FileWrite(
            path=each.path,
            base_sha256=_checked(each, loaded, tree).sha256,
            content=each.content,
        )
        for each in loaded.order.acceptance_files
    )


def _checked(file: AcceptanceFile, loaded: LoadedOrder, tree: Tree) -> FileState:
    state = tree.state_of(file.path)
    if state.kind is FileKind.FILE:
        as_planned = state.sha256 == sha256_bytes(file.content.encode())
        if not as_planned and file.path not in loaded.replaceable:
            raise CannotPlace(_because(file, "exists, and no earlier order of the plan placed it"))
    elif state.kind is not FileKind.ABSENT:
        raise CannotPlace(_because(file, DESCRIPTIONS[state.kind]))
    elif lookalike := tree.lookalike_of(file.path):
        raise CannotPlace(_because(file, f"is the same as {lookalike!r} on some file systems"))
    return state


def _because(file: AcceptanceFile, problem: str) -> str:
    return (
        f"the acceptance file {file.path!r} cannot be put in place: it {problem}. "
        "The plan is wrong, not the code."
    )


def show_acceptance_files(order: WorkOrder) -> tuple[ShownFile, ...]:
    """Return the acceptance files as a prompt shows them: as they will be."""
    return tuple(
        ShownFile(
            each.path,
            FileState(FileKind.FILE, sha256_bytes(each.content.encode())),
            each.content,
        )
        for each in order.acceptance_files
    )
