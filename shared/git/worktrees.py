"""Asks about the working trees of a repo, and makes, resets and removes them."""

from __future__ import annotations

from pathlib import Path

from shared.git.answers import Changes, Checkout, parse_status
from shared.git.client import Git
from shared.git.config import ALL_SYNCED
from shared.process import Finished


def checkouts(git: Git) -> tuple[Checkout, ...]:
    """Return all working trees of the repo."""
    found: list[Checkout] = []
    for record in git.run("worktree", "list", "--porcelain", "-z").split("\0\0"):
        lines = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
        if "worktree" in lines:
            branch = lines.get("branch", "").removeprefix("refs/heads/")
            found.append(Checkout(Path(lines["worktree"]), branch))
    return tuple(found)


def changes(git: Git, *, own_tree: bool = False) -> Changes:
    """Return the paths that differ from the commit.

    In a tree of our own, untracked folders are listed file by file, and git may refresh its
    index; the user's index is only read. Only the commit of a submodule is compared: to look
    further, git would run with that repo's own config.
    """
    output = git.run(
        "status", "--porcelain=v2", "-z", "--branch", "--no-renames",
        "--ignore-submodules=dirty",
        "--untracked-files=" + ("all" if own_tree else "normal"),
        environment={} if own_tree else {"GIT_OPTIONAL_LOCKS": "0"},
    )  # fmt: skip
    return parse_status(output.split("\0"))


def is_exactly(git: Git, tree: str) -> bool:
    """Return whether index and tracked files are those of `tree`, which may be a commit.

    Files are compared by their status on disk alone. The result may be false also where a
    file was touched but its content is still the same.
    """
    return not git.run(
        "diff-index", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=dirty",
        tree, "--",
    )  # fmt: skip


def add(git: Git, path: Path, commit: str) -> None:
    """Check `commit` out, detached, into a new working tree at `path`."""
    git.run("worktree", "add", "--detach", "--quiet", "--force", "--", str(path), commit)


def forget(git: Git, path: Path) -> None:
    """Remove the repo's data about a working tree, and the tree itself if it still exists.

    `git worktree prune` is never used: it would also forget working trees of the user on a
    disk that is not mounted at the moment.
    """
    git.try_run("worktree", "remove", "--force", "--force", "--", str(path))


def begin_on(git: Git, branch: str, commit: str) -> None:
    """Have an empty tree stand on a branch, which then stands for `commit`."""
    git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    git.run("reset", "--hard", "--quiet", commit)


def reset(git: Git, commit: str) -> None:
    """Make HEAD, index and tracked files exactly `commit`; untracked files in the way go."""
    git.run("reset", "--hard", "--quiet", commit)


def reset_keeping(git: Git, commit: str) -> None:
    """Make HEAD, index and files `commit`; change nothing where a changed file would be lost.

    In that case `GitFailed` is raised.
    """
    git.run("reset", "--keep", "--quiet", commit)


def detach_head(git: Git, commit: str) -> None:
    """Point HEAD of this tree at `commit`; index and files stay as they are."""
    git.run("update-ref", "--no-deref", "HEAD", commit)


def fast_forward(git: Git, commit: str) -> Finished:
    """Move the checked-out branch and its tree forward to `commit`, or change nothing.

    An ignored file in the way is kept, and the move is refused. By default git would overwrite
    such a file silently.
    """
    return git.with_config(ALL_SYNCED).try_run(
        "merge", "--ff-only", "--no-overwrite-ignore", "--quiet", "--no-autostash", commit
    )
