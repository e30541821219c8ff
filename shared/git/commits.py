"""Reads and writes commits, merges them, and adds notes to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shared.git import repos, trees
from shared.git.client import Git, GitFailed, text_of
from shared.git.config import SYNCED, without_merge_drivers


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """Hold the message, author and date of a commit.

    The author and the date are also the committer's, so equal input gives an equal commit id.
    """

    message: str
    author: str
    email: str
    date: str


def messages(git: Git, tip: str, *, limit: int) -> tuple[tuple[str, str], ...]:
    """Return ids and messages of `tip` and its first parents, newest first, at most `limit`."""
    output = git.run("log", "-z", "--first-parent", f"--max-count={limit}", "--format=%H%n%B", tip)
    pairs = (record.partition("\n") for record in output.split("\0") if record)
    return tuple((commit, message) for commit, _, message in pairs)


def write(git: Git, tree: str, parent: str, facts: CommitFacts) -> str:
    """Create a commit of `tree` on `parent` and return its id.

    No hook runs, and the commit is not signed.
    """
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (
            ("NAME", facts.author),
            ("EMAIL", facts.email),
            ("DATE", facts.date),
        )
    }
    return git.with_config(SYNCED).run(
        "commit-tree", tree, "-p", parent, stdin=facts.message.encode(), environment=who
    )


def merge_trees(git: Git, ours: str, theirs: str) -> str | None:
    """Return the tree of both commits merged, or `None` where they conflict. No ref moves.

    Merge drivers are programs, so files that a driver would merge are merged as text.
    """
    plain = git.with_config((*without_merge_drivers(repos.read_config(git)), *SYNCED))
    done = plain.try_run("merge-tree", "--write-tree", "--no-messages", ours, theirs)
    if done.exit_code not in (0, 1) or done.timed_out:
        raise GitFailed(done)
    return text_of(done.stdout).split("\n")[0] if done.exit_code == 0 else None


def add_note(git: Git, ref: str, commit: str, text: str, facts: CommitFacts) -> None:
    """Attach `text` to `commit` under the notes ref, in the place of any earlier note."""
    who = {"GIT_COMMITTER_NAME": facts.author, "GIT_COMMITTER_EMAIL": facts.email}
    author = {"GIT_AUTHOR_NAME": facts.author, "GIT_AUTHOR_EMAIL": facts.email}
    git.run(
        "notes", f"--ref={ref}", "add", "--force", "--file=-", commit,
        stdin=text.encode(), environment={**who, **author},
    )  # fmt: skip


def notes(git: Git, ref: str, on: Collection[str]) -> dict[str, str]:
    """Return the notes under the notes ref by commit, for those commits of `on` that have one."""
    listed = [line.split() for line in git.run("notes", f"--ref={ref}", "list").splitlines()]
    found = {commit: blob for blob, commit in listed if commit in on}
    texts = trees.blobs(git, tuple(found.values()))
    return {
        commit: texts[blob].decode("utf-8", "replace")
        for commit, blob in found.items()
        if blob in texts
    }
