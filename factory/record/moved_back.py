"""Tells a branch that a person moved back from a branch whose commits were rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.git import commits
from shared.git.client import Git

_SEARCHED = 10_000


def was_moved_back(git: Git, reflog: Sequence[str], commit: str) -> bool:
    """Return whether the branch lost `commit` by moving back to a commit before it.

    `reflog` are the commits that the branch was at, newest first. Somebody who moves a branch back
    takes the later commits away on purpose. A rebase or an amended commit keeps the work.
    """
    children = _children(git, reflog)
    having = _with_descendants(children, commit)
    newest = next((n for n, each in enumerate(reflog) if each in having), 0)
    if not newest:
        return False
    return commit in _with_descendants(children, reflog[newest - 1])


def _children(git: Git, tips: Sequence[str]) -> Mapping[str, Sequence[str]]:
    children: dict[str, list[str]] = {}
    for child, parents in commits.parents_before(git, tips, limit=_SEARCHED).items():
        for parent in parents:
            children.setdefault(parent, []).append(child)
    return children


def _with_descendants(children: Mapping[str, Sequence[str]], commit: str) -> set[str]:
    found = {commit}
    waiting = [commit]
    while waiting:
        new = [each for each in children.get(waiting.pop(), ()) if each not in found]
        found.update(new)
        waiting += new
    return found
