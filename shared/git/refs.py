"""Reads, moves and pushes refs, and exchanges them with a remote."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shared.errors import CommandFailed
from shared.git.client import PROTOCOLS, SYNCED, Git, text_of
from shared.processes.process import Finished

NO_COMMIT = "0" * 40
"""The id of a ref that does not exist."""

_REF_NAME_BYTES = 250  # for one part: git makes a file of that name, and one with `.lock` added


def commit_of(git: Git, name: str) -> str:
    """Return the id of the commit that `name` names; empty if there is none."""
    done = git.try_run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    return "" if done.exit_code else text_of(done.stdout).strip()


def tip_of_branch(git: Git, branch: str) -> str:
    """Return the id of the last commit of a branch; empty if the branch is missing."""
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

    The result is false where `ref` is not at `old`. With `NO_COMMIT` for `old`, the ref
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


_CREDENTIALS = re.compile(r"://[^/@\s]*@")
_OVER_HTTP = re.compile(r"^(https?://)[^/@\s]*@", re.IGNORECASE)
_PASSWORD = re.compile(r"^([a-z+]+://[^/@:\s]*):[^/@\s]*@", re.IGNORECASE)
_BRANCHES = "refs/heads/"
_NO_CREDENTIAL = (
    "could not read Username",
    "could not read Password",
    "Authentication failed",
    "Permission denied (publickey",
)


class NoCredential(CommandFailed):
    """Say that the remote wants a credential that git does not have here; waiting gives none."""


def url_of(git: Git, remote: str) -> str:
    """Return the URL that a remote is pushed to, without credentials; "" if there is none."""
    done = git.try_run("remote", "get-url", "--push", "--", remote)
    return "" if done.exit_code else without_credentials(text_of(done.stdout).strip())


def without_credentials(url: str) -> str:
    """Return a URL without a password. The user stays where it names an account of the host.

    Over HTTP the user may be a token itself.
    """
    return _OVER_HTTP.sub(r"\1", _PASSWORD.sub(r"\1@", url))


def absolute(remote: str, tree: Path) -> str:
    """Return a remote that is a path as other processes on this machine find it."""
    path = tree / remote
    return str(path.resolve()) if "://" not in remote and path.exists() else remote


def push_refs(git: Git, remote: str, refs: Mapping[str, str]) -> None:
    """Set the refs of a remote to commits; an empty commit deletes the ref.

    Raises `CommandFailed` with what git says, where the remote refuses one of them.
    """
    specs = [f"+{commit}:{ref}" if commit else f":{ref}" for ref, commit in refs.items()]
    if specs:
        _run(git, remote, "push", "--quiet", "--no-verify", "--", remote, *specs)


def move_ref(git: Git, remote: str, ref: str, new: str, old: str) -> None:
    """Move a ref of a remote from `old` to `new`; "" means that it does not exist.

    Raises `CommandFailed` if the ref is elsewhere, or the remote refuses.
    """
    lease = f"--force-with-lease={ref}:{old}"
    _run(git, remote, "push", "--quiet", "--no-verify", lease, "--", remote, f"{new}:{ref}")


def default_branch(git: Git, remote: str) -> str:
    """Return the branch that a remote's HEAD is on; "" if there is none."""
    said = _run(git, remote, "ls-remote", "--quiet", "--symref", "--", remote, "HEAD")
    first = said.partition("\n")[0]
    name = first.removeprefix("ref: ").partition("\t")[0]
    return name.removeprefix(_BRANCHES) if name.startswith(_BRANCHES) else ""


def branch_tips(git: Git, remote: str) -> Mapping[str, str]:
    """Return the branches of a remote by name, each with its last commit."""
    found = list_refs(git, remote, _BRANCHES)
    return {ref.removeprefix(_BRANCHES): commit for ref, commit in found.items()}


def fetch_refs(git: Git, remote: str, refs: Sequence[str], *, history: bool = True) -> None:
    """Fetch the commits of refs of a remote; without their `history`, those alone.

    No ref of this repo moves, unless a refspec `+THERE:HERE` names one.
    """
    options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
    if not history:
        options.append("--depth=1")
    if refs:
        _run(git, remote, "fetch", *options, "--", remote, *refs)


def list_refs(git: Git, remote: str, below: str) -> Mapping[str, str]:
    """Return the refs of a remote whose names begin with `below`, each with its commit."""
    said = _run(git, remote, "ls-remote", "--quiet", "--refs", "--", remote, f"{below}*")
    pairs = (line.split("\t") for line in said.splitlines())
    return {ref: commit for commit, ref in pairs if ref.startswith(below)}


def _run(git: Git, remote: str, command: str, *arguments: str) -> str:
    """Run git as the user's own would ask a remote, but without hooks and without a prompt."""
    if remote.startswith("-"):
        raise CommandFailed(f"{remote!r} is not a remote", "name it in the setting `fleet.remote`")
    environment = {k: v for k, v in git.environment.items() if k != PROTOCOLS}
    done = replace(git, environment=environment, held=()).try_run(command, *arguments)
    if done.exit_code or done.timed_out:
        said = _CREDENTIALS.sub("://", done.stderr.decode(errors="replace").strip())
        failed = NoCredential if any(each in said for each in _NO_CREDENTIAL) else CommandFailed
        raise failed(
            f"git {command} with {_CREDENTIALS.sub('://', remote)} failed: {said or 'timed out'}",
            "see that this machine reaches the remote, and that git needs no password typed there",
        )
    return text_of(done.stdout)
