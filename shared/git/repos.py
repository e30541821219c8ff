"""Asks where a repo is and what its config says, and makes an empty one."""

from __future__ import annotations

from pathlib import Path

from shared.git.client import Git, GitFailed, text_of
from shared.git.config import ConfigEntry

_NO_WORKING_TREE = (b"not a git repository", b"must be run in a work tree")


def layout(git: Git) -> tuple[Path, Path, Path] | None:
    """Return working tree, git dir and common git dir; `None` outside of a working tree."""
    done = git.try_run(
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--git-dir",
        "--git-common-dir",
    )
    if done.exit_code:
        if any(words in done.stderr for words in _NO_WORKING_TREE):
            return None
        raise GitFailed(done, "check that `git status` works there")
    try:
        tree, git_dir, common = text_of(done.stdout).removesuffix("\n").split("\n")
    except ValueError:
        raise GitFailed(done, "rename the folder: its path has a line break") from None
    return Path(tree), Path(git_dir), Path(common)


def initialise(git: Git) -> None:
    """Make an empty repo in the folder, without hooks and without a commit."""
    git.run("init", "--quiet", "--template=", "--initial-branch=unborn")


def is_bare(git: Git) -> bool:
    """Return whether the folder is a bare repo or inside one."""
    done = git.try_run("rev-parse", "--is-bare-repository")
    return done.stdout.strip() == b"true"


def is_shallow(git: Git) -> bool:
    """Return whether the repo is a shallow clone, which lacks the older commits."""
    return git.try_run("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def is_inside_git(git: Git) -> bool:
    """Return whether the folder belongs to any repo, also to a bare one or to a git folder."""
    return git.try_run("rev-parse", "--git-dir").exit_code == 0


def setting(git: Git, key: str) -> str:
    """Return the value of one setting of git's config; empty where it is not set."""
    done = git.try_run("config", "--get", key)
    return "" if done.exit_code else text_of(done.stdout).removesuffix("\n")


def read_config(git: Git) -> tuple[ConfigEntry, ...]:
    """Return the whole config, with includes resolved, in the order in which git reads it."""
    fields = git.run("config", "--list", "-z", "--show-scope").split("\0")
    entries = []
    for scope, pair in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = pair.partition("\n")
        entries.append(ConfigEntry(scope, key, value))
    return tuple(entries)
