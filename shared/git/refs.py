"""Asks what names stand for, and moves and pushes branches and other refs."""

from __future__ import annotations

import os
from dataclasses import replace

from shared.git.client import Git, text_of
from shared.git.config import PROTOCOLS, SYNCED
from shared.process import Finished

NO_COMMIT = "0" * 40
"""The id that stands for the commit of a ref that does not exist."""

_REF_NAME_BYTES = 250  # for one part: git makes a file of that name, and one with `.lock` added


def commit_of(git: Git, name: str) -> str:
    """Return the id of the commit that `name` stands for; empty where there is none."""
    done = git.try_run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    return "" if done.exit_code else text_of(done.stdout).strip()


def tip_of_branch(git: Git, branch: str) -> str:
    """Return the id of the last commit of a branch; empty where there is no such branch."""
    return commit_of(git, f"refs/heads/{branch}") if branch_name_allowed(git, branch) else ""


def branch_name_allowed(git: Git, name: str) -> bool:
    """Return whether git takes `name`, unchanged, as the name of a branch."""
    if name == "HEAD" or name.startswith("-") or "\0" in name:
        return False
    if any(len(os.fsencode(part)) > _REF_NAME_BYTES for part in name.split("/")):
        return False
    # The option `--branch` is not used: it also takes `@{-1}`, the branch checked out before.
    return git.try_run("check-ref-format", f"refs/heads/{name}").exit_code == 0


def in_the_way(git: Git, ref: str) -> tuple[str, ...]:
    """Return the refs that keep `ref` from being made: `a/b` cannot exist beside `a`."""
    parts = ref.split("/")
    above = ["/".join(parts[:end]) for end in range(3, len(parts))]
    names = git.run("for-each-ref", "--format=%(refname)", *above, ref).split("\n")
    return tuple(name for name in names if name in above or name.startswith(ref + "/"))


def move(git: Git, ref: str, new: str, old: str, reason: str) -> bool:
    """Move `ref` from `old` to `new` and return whether git did it.

    The result is false where `ref` is no longer at `old`. With `NO_COMMIT` for `old`, the ref
    must not exist yet.
    """
    if old == NO_COMMIT:
        old = "0" * len(new)  # the repo's kind of hash says how many digits an id has
    done = git.with_config(SYNCED).try_run(
        "update-ref", "--create-reflog", "-m", reason, ref, new, old
    )
    return done.exit_code == 0


def push(git: Git, remote: str, branch: str) -> Finished:
    """Push `branch` and set its upstream, as the user's own git would, but without hooks."""
    environment = {k: v for k, v in git.environment.items() if k != PROTOCOLS}
    # A credential helper may leave a process running, which must not hold our descriptors.
    return replace(git, environment=environment, held=()).try_run(
        "push", "--set-upstream", remote, f"refs/heads/{branch}"
    )
