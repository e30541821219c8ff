"""Reads, moves and pushes refs, and exchanges them with a remote."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from shared.errors import CommandFailed
from shared.git import repos
from shared.git.client import (
    PROTOCOLS,
    SCOPES_OF_THE_REPO,
    SYNCED,
    ConfigEntry,
    Git,
    allowed_protocols,
    repo_programs,
    text_of,
    without_repo_programs,
)
from shared.processes.process import Finished

NO_COMMIT = "0" * 40
"""The id of a ref that does not exist."""

OWN_REFS: Final = ("refs/llmch", "refs/notes/llmch", "refs/notes/llmch-proof")
"""What llmch writes beside a branch: commits that are kept, notes for people, and statements."""

# Of names that git is sure to take, no process has to ask it.
_PLAIN_NAME: Final = re.compile(r"(?!.*\.lock(?:/|$))[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*")
_REF_NAME_BYTES = 250  # for one part: git makes a file of that name, and one with `.lock` added


def commit_of(git: Git, name: str) -> str:
    """Return the id of the commit that `name` names; empty if there is none."""
    done = git.try_run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    return "" if done.exit_code else text_of(done.stdout).strip()


def commits_of(git: Git, *names: str) -> tuple[str, ...]:
    """Return the commit that each of `names` names, "" where there is none. One git answers."""
    asked = "".join(f"{name}^{{commit}}\n" for name in names)
    if asked.count("\n") != len(names):
        return tuple(commit_of(git, name) for name in names)  # git reads a name a line
    lines = git.run("cat-file", "--batch-check", stdin=os.fsencode(asked)).splitlines()
    found = [line.split(" ") for line in lines]
    return tuple(each[0] if each[1:2] == ["commit"] else "" for each in found)


def hint_for_unknown(git: Git, name: str, otherwise: str) -> str:
    """Return what helps where `name` names no commit: a clone has most branches as origin's."""
    if commit_of(git, f"refs/remotes/origin/{name}"):
        return f"only origin has that branch here: say origin/{name}"
    return otherwise


def tip_of_branch(git: Git, branch: str) -> str:
    """Return the id of the last commit of a branch; empty if the branch is missing."""
    return commit_of(git, f"refs/heads/{branch}") if branch_name_allowed(git, branch) else ""


def tip_to_follow(git: Git, branch: str) -> str:
    """Return the commit that the next one of a branch follows, whether or not it exists yet.

    A branch that is missing goes on from that of `origin`, or starts from HEAD. The result is empty
    before the first commit.
    """
    own = (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}")
    named = (*own, "HEAD") if branch_name_allowed(git, branch) else ("HEAD",)
    return next(filter(None, commits_of(git, *named)), "")


def branch_name_allowed(git: Git, name: str) -> bool:
    """Return whether git takes `name`, unchanged, as the name of a branch."""
    if name == "HEAD" or name.startswith("-") or "\0" in name:
        return False
    if any(len(os.fsencode(part)) > _REF_NAME_BYTES for part in name.split("/")):
        return False
    if _PLAIN_NAME.fullmatch(name):
        return True
    # The option `--branch` is not used: it also takes `@{-1}`, the branch checked out before.
    return git.try_run("check-ref-format", f"refs/heads/{name}").exit_code == 0


def in_the_way(git: Git, ref: str) -> tuple[str, ...]:
    """Return the refs that keep `ref` from being made: `a/b` cannot exist beside `a`."""
    parts = ref.split("/")
    above = ["/".join(parts[:end]) for end in range(3, len(parts))]
    names = git.run("for-each-ref", "--format=%(refname)", *above, ref).split("\n")
    return tuple(name for name in names if name in above or name.startswith(ref + "/"))


_SYMBOLIC: Final = "ref:"
_LONGEST_REF_FILE: Final = 4096


def leads_to(common_dir: Path, ref: str) -> str:
    """Return what git would read and write instead of `ref`; "" for a ref of its own.

    That is another ref where `ref` is symbolic, and otherwise the place that a link on the way to
    its file leads to. Only a repo without files for refs (reftable) costs a git process.
    """
    if (common_dir / "reftable").exists():
        done = Git(common_dir).try_run("symbolic-ref", "--quiet", ref)
        return "" if done.exit_code == 1 else text_of(done.stdout).strip() or ref
    path, root = common_dir / ref, Path(os.path.realpath(common_dir / "refs"))
    real = os.path.realpath(path)
    if real != str(root.joinpath(*ref.split("/")[1:])):
        return os.path.relpath(real, root.parent)
    try:
        kind = path.lstat().st_mode
        if not stat.S_ISREG(kind):
            return "" if stat.S_ISDIR(kind) else ref  # git would wait for a pipe
        with path.open("rb") as file:
            found = text_of(file.read(_LONGEST_REF_FILE))
    except OSError:  # such as a ref that is packed, or missing
        return ""
    return found.removeprefix(_SYMBOLIC).strip() if found.startswith(_SYMBOLIC) else ""


def move(git: Git, ref: str, new: str, old: str, reason: str) -> bool:
    """Move `ref` from `old` to `new` and return whether git did it.

    The result is false where `ref` is not at `old`. With `NO_COMMIT` for `old`, the ref
    must not exist yet. A ref that is symbolic is never followed.
    """
    if old == NO_COMMIT:
        old = "0" * len(new)  # the repo's kind of hash says how many digits an id has
    done = git.with_config(SYNCED).try_run(
        "update-ref", "--create-reflog", "--no-deref", "-m", reason, ref, new, old
    )
    return done.exit_code == 0


def push(git: Git, remote: str, branch: str) -> None:
    """Push `branch` and set its upstream, as the user's own git would, but without hooks.

    Raises `CommandFailed` with what git says, where the remote refuses it.
    """
    ref = f"refs/heads/{branch}"
    list_refs(git, remote, ref)  # which refuses a symbolic one
    _run(git, remote, "push", ("--no-verify",), (f"{ref}:{ref}",))
    git.try_run("config", f"branch.{branch}.remote", remote)
    git.try_run("config", f"branch.{branch}.merge", ref)
    # By refspecs of its own, the repo could have a push move any ref here. This is the usual one.
    if repos.setting(git, f"remote.{remote}.fetch") == f"+{_BRANCHES}*:refs/remotes/{remote}/*":
        git.try_run("update-ref", "--no-deref", f"refs/remotes/{remote}/{branch}", ref)


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
        _run(git, remote, "push", ("--no-verify",), specs)


def move_ref(git: Git, remote: str, ref: str, new: str, old: str) -> None:
    """Move a ref of a remote from `old` to `new`; "" means that it does not exist.

    Raises `CommandFailed` if the ref is elsewhere, or the remote refuses.
    """
    lease = f"--force-with-lease={ref}:{old}"
    _run(git, remote, "push", ("--no-verify", lease), (f"{new}:{ref}",))


def default_branch(git: Git, remote: str) -> str:
    """Return the branch that a remote's HEAD is on; "" if there is none."""
    said = _run(git, remote, "ls-remote", ("--symref",), ("HEAD",))
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
    options = ["--no-tags", "--no-write-fetch-head"]
    if not history:
        options.append("--depth=1")
    if refs:
        _run(git, remote, "fetch", options, refs)


def list_refs(git: Git, remote: str, below: str) -> Mapping[str, str]:
    """Return the refs of a remote whose names begin with `below`, each with its commit.

    Raises `CommandFailed` if `below` is itself the name of a symbolic ref: whoever asks for one
    ref means to write it, and the remote would write the other.
    """
    found: dict[str, str] = {}
    for line in _run(git, remote, "ls-remote", ("--symref", "--refs"), (f"{below}*",)).splitlines():
        commit, _, ref = line.partition("\t")
        if commit.startswith(_SYMBOLIC) and ref == below:
            raise CommandFailed(
                f"{ref} of the remote only leads to {commit.removeprefix(_SYMBOLIC).strip()}",
                "make it a ref of its own there: llmch writes through no other name",
            )
        if ref.startswith(below) and not commit.startswith(_SYMBOLIC):
            found[ref] = commit
    return found


def _run(git: Git, remote: str, command: str, options: Sequence[str], names: Sequence[str]) -> str:
    """Run git as the user's own would ask a remote, but without hooks and without a prompt.

    The remote is asked by its URL: what the repo's config says of the remote's name are programs
    and refs of the repo's choice. Programs, helpers, proxies and protocols are those of the
    person's own config alone.
    """
    if remote.startswith("-"):
        raise CommandFailed(f"{remote!r} is not a remote", "name it in the setting `fleet.remote`")
    entries = repos.read_config(git)
    environment = {
        **git.environment,
        PROTOCOLS: allowed_protocols(entries),
        **({"GIT_PROXY_COMMAND": ""} if "core.gitproxy" in repo_programs(entries) else {}),
    }
    # A credential helper may leave a process running, which must not hold our descriptors.
    asked = replace(git, environment=environment, held=()).with_config(
        without_repo_programs(entries)
    )
    said = ""
    urls = _urls_of(git, remote)
    for url in urls if command == "push" else urls[:1]:
        _refuse_repos_own(git, url, entries, named=url != remote)
        # What was rewritten once (`insteadOf`) is not rewritten again.
        itself = ((f"url.{url}.insteadOf", url), (f"url.{url}.pushInsteadOf", url))
        found = asked.with_config(itself) if url != remote else asked
        quiet = ("--quiet",) if command == "ls-remote" else ("--quiet", "--no-recurse-submodules")
        done = found.try_run(command, *quiet, *options, "--", url, *names)
        if done.exit_code or done.timed_out:
            raise _failure(command, remote, done)
        said += text_of(done.stdout)
    return said


def _urls_of(git: Git, remote: str) -> Sequence[str]:
    """Return where a remote is pushed to: a path or URL is itself, and a name has some."""
    if "/" in remote or ":" in remote:
        return [remote]
    done = git.try_run("remote", "get-url", "--push", "--all", "--", remote)
    if done.exit_code:
        raise CommandFailed(f"the repo has no remote {remote!r}", "add it by `git remote add`")
    return text_of(done.stdout).splitlines()


_OLD_REMOTES: Final = ("remotes", "branches")  # folders of files that git took remotes from


def _refuse_repos_own(git: Git, url: str, entries: Iterable[ConfigEntry], *, named: bool) -> None:
    """Raise `CommandFailed` if the repo's own files decide what becomes of `url`.

    Its config may have settings for a remote of that very name, or rewrite what was rewritten. A
    remote in the repo's own folder has hooks, and git would run them.
    """
    shown = without_credentials(url)
    for each in (each for each in entries if each.scope in SCOPES_OF_THE_REPO):
        rewrites = each.key.endswith("insteadof") and (
            each.value == url if named else url.startswith(each.value)
        )
        if rewrites or each.key.startswith(f"remote.{url}."):
            raise CommandFailed(
                f"the repo's own config says what git does with the URL {shown}",
                f"remove {without_credentials(each.key)} from it",
            )
    path = unquote(url.removeprefix("file://")) if url.startswith("file://") else url
    elsewhere = ":" in path.partition("/")[0]
    bare = "/" not in url  # as the name of such a file
    if elsewhere and not bare:
        return
    layout = repos.layout(git) or ()
    if bare and any(os.path.lexists(own / old / url) for own in layout for old in _OLD_REMOTES):
        raise CommandFailed(
            f"the repo has a file of old in its git folder, which says what {shown} is",
            f"remove it from {' or '.join(_OLD_REMOTES)}",
        )
    if elsewhere:
        return
    there = Path(os.path.realpath(git.folder / path))
    if any(there.is_relative_to(os.path.realpath(own)) for own in layout):
        raise CommandFailed(
            f"the remote {shown} lies in the repo itself, whose hooks git would run",
            "name a remote elsewhere",
        )


def _failure(command: str, remote: str, done: Finished) -> CommandFailed:
    said = _CREDENTIALS.sub("://", done.stderr.decode(errors="replace").strip())
    failed = NoCredential if any(each in said for each in _NO_CREDENTIAL) else CommandFailed
    return failed(
        f"git {command} with {_CREDENTIALS.sub('://', remote)} failed: {said or 'timed out'}",
        "see that this machine reaches the remote, and that git needs no password typed there",
    )
