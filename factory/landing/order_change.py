"""Compares what a commit changes with what its order lets it change."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from factory.repo.path_names import name_paths
from factory.statement.document import ChangePart, FileHash
from shared.git import patches, trees
from shared.git.client import Git
from shared.git.object_ids import is_id_of
from shared.work_order.schemas import WorkOrder

_FILES: Final = ("100644", "100755")


def paths_of(order: WorkOrder) -> frozenset[str]:
    """Return the paths that a commit of the order may touch."""
    placed = (each.path for each in order.acceptance_files)
    return frozenset((*order.allowed_files, *placed, *order.removed_files))


def change_of(git: Git, commit: str, changed: Collection[str]) -> ChangePart:
    """Return what a statement lists of a commit that changes the files `changed`.

    Links and submodules are not listed: the tree of the commit is, and it names them.
    """
    paths = sorted(changed)
    hashes, there = trees.hashes_of(git, commit, paths), trees.entries_of(git, commit, paths)
    return ChangePart(
        written=tuple(
            FileHash(path=as_text(path), sha256=hashes[path]) for path in paths if path in hashes
        ),
        removed=tuple(as_text(path) for path in paths if path not in there),
    )


def as_text(path: str) -> str:
    """Return a path as JSON can hold it: bytes that are no text stand as their numbers."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def faults_of_change(git: Git, order: WorkOrder, parent: str, commit: str) -> Iterator[str]:
    """Yield what in the commit's tree is not as the order says, each as the end of a sentence.

    The tree may differ from the parent's in the order's paths alone, and only plain files may stand
    there.
    """
    allowed = paths_of(order)
    if beyond := patches.files_between(git, parent, commit) - allowed:
        yield f"it changes what the order does not allow: {name_paths(sorted(beyond))}"
    entries = trees.entries_of(git, commit, sorted(allowed))
    if odd := [path for path, each in entries.items() if each.mode not in _FILES]:
        yield f"{name_paths(sorted(odd))} is not a plain file"
    yield from lacking(git, order, commit)


def lacking(git: Git, order: WorkOrder, commit: str) -> Iterator[str]:
    """Yield what the commit's tree does not have as the order says it: its tests, its removals."""
    placed = {each.path: each.content.encode() for each in order.acceptance_files}
    if not placed and not order.removed_files:
        return
    entries = trees.entries_of(git, commit, sorted({*placed, *order.removed_files}))
    for path, content in placed.items():
        if path not in entries:
            yield f"it does not have the plan's test {path!r}"
        elif not is_id_of(entries[path].object_id, content):
            yield f"its {path!r} is not the plan's test, byte for byte"
    for path in order.removed_files:
        if path in entries:
            yield f"it still has {path!r}, which the order removes"
