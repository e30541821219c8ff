"""Exchanges commits with a remote by refs of our own, which no branch and no tag is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shared.errors import CommandFailed
from shared.git.client import Git, text_of
from shared.git.config import PROTOCOLS

_CREDENTIALS = re.compile(r"://[^/@\s]*@")


def url_of(git: Git, remote: str) -> str:
    """Return the URL that a remote is pushed to, without credentials; "" where there is none."""
    done = git.try_run("remote", "get-url", "--push", "--", remote)
    return "" if done.exit_code else _CREDENTIALS.sub("://", text_of(done.stdout).strip())


def push_refs(git: Git, remote: str, refs: Mapping[str, str]) -> None:
    """Have the refs of a remote stand for commits; an empty commit deletes the ref.

    Raises `CommandFailed` with what git says, where the remote refuses one of them.
    """
    specs = [f"+{commit}:{ref}" if commit else f":{ref}" for ref, commit in refs.items()]
    if specs:
        _run(git, remote, "push", "--quiet", "--no-verify", "--", remote, *specs)


def fetch_refs(git: Git, remote: str, refs: Sequence[str]) -> None:
    """Bring the commits that refs of a remote stand for; no ref of this repo moves."""
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
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
        raise CommandFailed(
            f"git {command} with {_CREDENTIALS.sub('://', remote)} failed: {said or 'timed out'}",
            "see that this machine reaches the remote, and that git needs no password typed there",
        )
    return text_of(done.stdout)
