"""Inspects a commit that a worker made, before it may land: workers are other machines."""

from __future__ import annotations

from factory.landing.order_change import faults_of_change
from factory.orders.task import OrderTask
from factory.orders.verdict import Passed
from shared.errors import CommandFailed
from shared.git import commits, refs, trees
from shared.git.client import Git


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
    for fault in faults_of_change(git, task.order, parent, passed.commit):
        raise _refused(task, passed, fault)


def _refused(task: OrderTask, passed: Passed, why: str) -> CommandFailed:
    return CommandFailed(
        f"a worker's commit {passed.commit[:12]} for {task.name} is refused: {why}",
        "look at the workers of the fleet: one of them does not do as llmch does",
    )
