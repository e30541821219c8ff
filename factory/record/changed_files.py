"""Finds the files that a plan was made for and that somebody has changed since on a branch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from shared.git import patches, trees
from shared.git.answers import FileChange
from shared.git.client import Git

_WALKED = 1_000  # commits of the branch along first parents, newest first
_CHANGES = 200  # commits that change one of the files


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """Name a file that is not as it was for the plan, and the commits that changed it.

    The commits are newest first. There are none where no commit of the branch has the file as it
    was: the plan may have been made for another branch, or for changes that were not committed.
    """

    path: str
    commits: tuple[str, ...]


def changed_files(
    git: Git,
    first_parents: Sequence[str],
    base: Mapping[str, str],
    own: Collection[str],
) -> tuple[ChangedFile, ...]:
    """Return those files of `base` that others than the plan's orders changed, by path.

    `first_parents` are the branch's commits, newest first. `base` has the SHA-256 of each file as
    it was. `own` are the commits of orders: a file is as it should be where the last change of it
    is one of these.
    """
    if not base or not first_parents:
        return ()
    tip = first_parents[0]
    now = trees.hashes_of(git, tip, tuple(base))
    differing = sorted(path for path, digest in base.items() if now.get(path) != digest)
    if not differing:
        return ()
    until = first_parents[_WALKED] if len(first_parents) > _WALKED else ""
    changes = patches.changes_of_files(git, tip, until, differing, limit=_CHANGES)
    blobs = {each.before for each in changes}
    blobs |= {each.after for each in changes if each.commit in own}
    contents = trees.hashes_of_blobs(git, blobs)
    found = []
    for path in differing:
        of_path = [each for each in changes if each.path == path]
        foreign, known = _foreign(of_path, base[path], now.get(path), contents, own)
        if foreign or not known:
            found.append(ChangedFile(path, foreign if known else ()))
    return tuple(found)


def _foreign(
    changes: Iterable[FileChange],
    digest: str,
    now: str | None,
    contents: Mapping[str, str],
    own: Collection[str],
) -> tuple[tuple[str, ...], bool]:
    """Return the commits of others since the file was as it was, and whether it ever was.

    `digest` is the SHA-256 of the file as it was, and `now` that of the branch. `contents` has
    those of blobs. Dates decide the sequence of commits that a merge brought together, so the
    newest commit need not be the one whose content is there.
    """
    found: list[str] = []
    known = False
    for each in changes:
        if each.commit in own:
            known = True
            if contents.get(each.after) == now:
                return (), True
        else:
            found.append(each.commit)
            known = known or contents.get(each.before) == digest
        if known and found:
            break
    return (tuple(found), True) if known else ((), False)
