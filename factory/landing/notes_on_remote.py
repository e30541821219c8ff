"""Brings the notes on commits to a remote, beside those that others have brought there.

A ref of notes has one history for all branches and for everybody. So what is there is merged first,
note by note, and the ref moves only from where it was seen.
"""

from __future__ import annotations

from typing import Final

from factory.orders.identity import NOTES_REF
from factory.statement.notes import PROOF_REF
from shared.errors import CommandFailed
from shared.git import commits, refs, remote_refs
from shared.git.client import Git
from shared.git.commits import NotesMerge
from shared.git.identity import Identity

_TRIES: Final = 20  # a further try is needed only if another run pushed notes within milliseconds
_REFUSALS: Final = 3  # without any such notes: the remote refuses, and asking again is of no use
_MERGED_BY: Final = {NOTES_REF: NotesMerge.TEXTS, PROOF_REF: NotesMerge.LINES}


def publish_notes(git: Git, remote: str, author: Identity) -> None:
    """Bring the notes for people, and those with statements, to a remote, and its own here.

    Where a commit has a note here and another one there, it has both afterwards. `author` makes the
    merge. Raises `CommandFailed` where the remote refuses, and `GitFailed` where a merge fails.
    """
    for ref, how in _MERGED_BY.items():
        _publish(git, remote, ref, how, author)


def _publish(git: Git, remote: str, ref: str, how: NotesMerge, author: Identity) -> None:
    if not refs.commit_of(git, ref):
        return None
    seen: list[str] = []
    while True:
        theirs = remote_refs.list_refs(git, remote, ref).get(ref, "")
        if theirs == refs.commit_of(git, ref):
            return None
        if theirs:
            remote_refs.fetch_refs(git, remote, (ref,))
            commits.merge_notes(git, ref, theirs, how, author)
        try:
            return remote_refs.move_ref(git, remote, ref, refs.commit_of(git, ref), theirs)
        except CommandFailed:
            seen.append(theirs)
            if len(seen) >= _TRIES or seen.count(theirs) >= _REFUSALS:
                raise
