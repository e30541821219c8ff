"""Inspects a commit that a worker made, before it may land: workers are other machines."""

from __future__ import annotations

from typing import Final

from factory.orders.task import OrderTask
from factory.orders.verdict import Passed
from factory.repo.path_names import name_paths
from shared.errors import CommandFailed
from shared.git import commits, patches, refs, trees
from shared.git.client import Git

_FILES: Final = ("100644", "100755")


def inspect_commit(git: Git, task: OrderTask, parent: str, passed: Passed) -> None:
    """Raise `CommandFailed` unless the commit is what the order makes of its tree on `parent`.

    The commit is built again from its tree, so no worker decides on its parent, author, date or
    trailers. The tree may differ from the parent's in what the order allows alone, and has the
    plan's tests byte for byte. What the files say rests on the worker's word: it ran the commands.
    """
    tree = refs.commit_of(git, passed.commit) and trees.tree_of(git, passed.commit)
    if not tree:
        raise _refused(task, passed, "it is not on the remote")
    if commits.write(git, tree, parent, task.commit_facts(passed.summary)) != passed.commit:
        raise _refused(task, passed, "it is not the commit of this order on this parent")
    order = task.order
    placed = {each.path: each.content.encode() for each in order.acceptance_files}
    allowed = {*order.allowed_files, *placed, *order.removed_files}
    if beyond := patches.files_between(git, parent, passed.commit) - allowed:
        raise _refused(
            task, passed, f"it changes what the order does not allow: {name_paths(sorted(beyond))}"
        )
    entries = trees.entries_of(git, passed.commit, sorted(allowed))
    if odd := [path for path, each in entries.items() if each.mode not in _FILES]:
        raise _refused(task, passed, f"{name_paths(sorted(odd))} is not a plain file")
    blobs = trees.blobs(git, [entries[path].object_id for path in placed if path in entries])
    for path, content in placed.items():
        if path not in entries or blobs.get(entries[path].object_id) != content:
            raise _refused(task, passed, f"its {path!r} is not the plan's test, byte for byte")
    if left := [path for path in order.removed_files if path in entries]:
        raise _refused(task, passed, f"it still has {name_paths(left)}, which the order removes")


def _refused(task: OrderTask, passed: Passed, why: str) -> CommandFailed:
    return CommandFailed(
        f"a worker's commit {passed.commit[:12]} for {task.name} is refused: {why}",
        "look at the workers of the fleet: one of them does not do as llmch does",
    )
