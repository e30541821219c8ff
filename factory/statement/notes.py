"""Keeps statements as notes on their commits, in a ref of their own beside the other notes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from factory.statement.bundle import bundle_without
from factory.statement.document import Acceptance, Statement
from shared.git import commits, trees
from shared.git.client import Git
from shared.git.commits import CommitFacts

PROOF_REF: Final = "refs/notes/llmch-proof"


def write_envelope(git: Git, commit: str, envelope: str, facts: CommitFacts) -> None:
    """Attach an envelope to a commit, beside those that are there; `facts` say who does it.

    Raises `GitFailed`.
    """
    commits.append_note(git, PROOF_REF, commit, envelope, facts)


def drop_statements(
    git: Git,
    commit: str,
    unwanted: Callable[[Statement | Acceptance], bool],
    facts: CommitFacts,
) -> None:
    """Take the statements that are not wanted from a commit's note. Raises `GitFailed`."""
    before = read_envelopes(git, (commit,)).get(commit, b"")
    after = bundle_without(before, unwanted)
    if after == before:
        return
    if after:
        commits.add_note(git, PROOF_REF, commit, after.decode("utf-8", "surrogateescape"), facts)
    else:
        commits.remove_note(git, PROOF_REF, commit, facts)


def read_envelopes(git: Git, on: Collection[str] | None = None) -> Mapping[str, bytes]:
    """Return the bytes of the notes by commit: of all, or of those commits of `on` that have one.

    The notes are found by git's own listing of the ref, so none is taken for another's.
    """
    listed = [line.split() for line in git.run("notes", f"--ref={PROOF_REF}", "list").splitlines()]
    wanted = {commit: blob for blob, commit in listed if on is None or commit in on}
    texts = trees.blobs(git, tuple(dict.fromkeys(wanted.values())))
    return {commit: texts[blob] for commit, blob in wanted.items() if blob in texts}
