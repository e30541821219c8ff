"""Asks git where a repository is and what it is like, and checks whether git and folders work
here.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from shared.errors import LlmchError
from shared.files.atomic_io import write_bytes
from shared.git.client import (
    ALL_SYNCED,
    Changes,
    Checkout,
    ConfigEntry,
    Git,
    GitFailed,
    parse_status,
    text_of,
)
from shared.processes.pinned_tools import TOOLS, build_here, installed_program
from shared.processes.process import Finished

_NO_WORKING_TREE = (b"not a git repository", b"must be run in a work tree")


def layout(git: Git) -> tuple[Path, Path, Path] | None:
    """Return working tree, git dir and common git dir; `None` outside of a working tree."""
    done = git.try_run(
        "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"
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
    """Return the value of one setting of git's config; empty if it is not set."""
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


_HALF_MADE: Final = (b"commondir", b"gitdir")
_TRIES: Final = 20
_AGAIN_AFTER_SECONDS: Final = 0.05


def checkouts(git: Git) -> tuple[Checkout, ...]:
    """Return the working trees of the repo."""
    found: list[Checkout] = []
    done = _run_beside_others(git, "worktree", "list", "--porcelain", "-z")
    for record in text_of(done.stdout).split("\0\0"):
        lines = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
        if "worktree" in lines:
            branch = lines.get("branch", "").removeprefix("refs/heads/")
            found.append(Checkout(Path(lines["worktree"]), branch))
    return tuple(found)


def _run_beside_others(git: Git, *arguments: str) -> Finished:
    """Return what git answers to a question about all working trees.

    Git fails where it reads the folder of one that another process makes or removes meanwhile, so
    it is asked again for about a second.
    """
    for _ in range(_TRIES):
        done = git.try_run(*arguments)
        if not done.exit_code and not done.timed_out:
            return done
        if not any(each in done.stderr for each in _HALF_MADE):
            raise GitFailed(done)
        time.sleep(_AGAIN_AFTER_SECONDS)
    raise GitFailed(done, "remove the folder that git names, if nothing is making it")


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


def is_as_staged(git: Git) -> bool:
    """Return whether the tracked files are those of the index, by their status on disk alone.

    The result may be false also where a file was touched but its content is still the same.
    """
    return not git.run("diff-files", "--name-only", "-z", "--ignore-submodules=dirty", "--")


def restore_staged(git: Git) -> tuple[str, ...]:
    """Make the tracked files those of the index again; return the paths of those that were not.

    Nothing else may be in the place of a tracked file or of a folder that holds one.
    """
    differing = git.run(
        "diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", "--ignore-submodules=dirty",
        "--",
    )  # fmt: skip
    if differing:
        stdin = differing.encode("utf-8", "surrogateescape")
        git.run("checkout-index", "--force", "--index", "-z", "--stdin", stdin=stdin)
    return tuple(filter(None, differing.split("\0")))


def add(git: Git, path: Path, commit: str) -> None:
    """Check `commit` out, detached, into a new working tree at `path`."""
    _run_beside_others(
        git, "worktree", "add", "--detach", "--quiet", "--force", "--", str(path), commit
    )


def forget(git: Git, path: Path) -> None:
    """Remove the repo's data about a working tree, and the tree itself if it still exists.

    `git worktree prune` is never used: it would also forget working trees of the user on a
    disk that is not mounted at the moment.
    """
    git.try_run("worktree", "remove", "--force", "--force", "--", str(path))


def begin_on(git: Git, branch: str, commit: str) -> None:
    """Put an empty tree on a branch, which then names `commit`."""
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


_OBJECT_ID: Final = re.compile(b"[0-9a-f]{40}|[0-9a-f]{64}")


def head_file(folder: Path) -> Path | None:
    """Return the file that alone says at which commit the detached tree at `folder` is.

    Returns `None` where git has to be asked: refs are not kept in files, or it is on a branch.
    """
    try:
        pointer = (folder / ".git").read_text(errors="surrogateescape")
        head = folder / pointer.removeprefix("gitdir:").strip() / "HEAD"
        plain = head.is_file() and not head.is_symlink()
        return head if plain and _OBJECT_ID.fullmatch(head.read_bytes().strip()) else None
    except (OSError, ValueError):
        return None


def detach_head(git: Git, commit: str, head: Path | None = None) -> None:
    """Point HEAD of this tree at `commit`; index and files stay as they are.

    `head` is the file that says so, of a tree that nobody else uses: it spares a git process.
    Raises `CommandFailed` if git or the disk refuses.
    """
    if head is None:
        git.run("update-ref", "--no-deref", "HEAD", commit)
    else:
        write_bytes(head, f"{commit}\n".encode(), sync=False)


def fast_forward(git: Git, commit: str) -> Finished:
    """Move the checked-out branch and its tree forward to `commit`, or change nothing.

    An ignored file in the way is kept, and the move is refused. By default git would overwrite
    such a file silently. With `--squash` in `branch.NAME.mergeOptions`, it would only stage.
    """
    options = ("--ff-only", "--no-squash", "--no-overwrite-ignore", "--quiet", "--no-autostash")
    return git.with_config(ALL_SYNCED).try_run("merge", *options, commit)


_FORM = re.compile(r"(?P<name>[^<>\n\0]+?) *<(?P<email>[^<>\s\0]+)>")
_GIVEN = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """Hold the name and the mail address of an author."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


def parse_identity(text: str) -> Identity | None:
    """Return the identity in a text such as `Ada <ada@example.org>`; `None` for any other text."""
    match = _FORM.fullmatch(text.strip())
    if match is None or len(text) > _LONGEST or not text.isprintable():
        return None
    return Identity(match["name"].strip(), match["email"])


def read_identity(git: Git, environ: Mapping[str, str] = os.environ) -> Identity | None:
    """Return the identity that git has for the person, by its variables and its config.

    The result is `None` if nobody has said who they are: what git would guess from the login
    and the machine's name does not count.
    """
    given = {name: environ[name] for name in _GIVEN if environ.get(name)}
    asked = git.with_config((("user.useConfigOnly", "true"),))
    done = asked.try_run("var", "GIT_AUTHOR_IDENT", environment=given)
    if done.exit_code:
        return None
    line = done.stdout.decode("utf-8", "replace").strip()
    return parse_identity(line.rpartition(">")[0] + ">")  # after it comes the time


# The first git with `merge-tree --write-tree`, which merges orders that were made side by side.
_MERGING_GIT = (2, 38)
_OLDEST_GIT = (2, 31)
_ROOM_BYTES = 1_000_000_000  # for workspaces and records of an ordinary repo
_INSTALL_GIT = "install git 2.38 or newer"


class Health(StrEnum):
    """Say whether something works: well, with limits, or not at all."""

    WELL = "well"
    LIMITED = "limited"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Checkup:
    """Hold the result of one checkup; `remedy` is empty if there is nothing to do."""

    name: str
    health: Health
    detail: str
    remedy: str = ""


def check_git() -> Checkup:
    """Return whether git is installed and new enough."""
    try:
        version = Git(Path.cwd()).run("version")
    except LlmchError as error:
        return Checkup("git", Health.BROKEN, error.message, _INSTALL_GIT)
    match = re.search(r"(\d+)\.(\d+)", version)
    numbers = (int(match[1]), int(match[2])) if match else (0, 0)
    if numbers < _OLDEST_GIT:
        return Checkup("git", Health.BROKEN, version, _INSTALL_GIT)
    if numbers < _MERGING_GIT:
        remedy = f"this git cannot merge orders that were made side by side: {_INSTALL_GIT}"
        return Checkup("git", Health.LIMITED, version, remedy)
    return Checkup("git", Health.WELL, version)


def check_folder(name: str, folder: Path, other: str) -> Checkup:
    """Return whether `folder` can be written and has room; `other` says how to choose another one.

    Where the folder does not exist yet, its nearest existing parent is checked.
    """
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    if not os.access(there, os.W_OK):
        remedy = f"make it writable, or choose another folder ({other})"
        return Checkup(name, Health.BROKEN, f"{folder} cannot be written", remedy)
    detail = f"{folder}, {free / 1e9:.1f} GB free"
    if free < _ROOM_BYTES:
        return Checkup(name, Health.LIMITED, detail, "free some space")
    return Checkup(name, Health.WELL, detail)


def check_tools(paths: Iterable[str] | None = None) -> Iterator[Checkup]:
    """Yield for each program that can be fetched whether it is there, and which version.

    One that judges none of the files `paths` of a repo is left out.
    """
    suffixes = None if paths is None else {Path(each).suffix for each in paths}
    for tool in TOOLS.values():
        if suffixes is not None and suffixes.isdisjoint(tool.suffixes):
            continue
        program = installed_program(tool)
        if program is not None:
            detail = f"{tool.name} {tool.version} judges plans in TypeScript and JavaScript"
            yield Checkup("tools", Health.WELL, f"{detail} ({program}, {tool.licence})")
        elif build_here(tool) is None:
            detail = (
                f"{tool.name} does not exist for this machine: such plans are not judged by types"
            )
            yield Checkup("tools", Health.WELL, detail)
        else:
            detail = f"no {tool.name}: plans in TypeScript and JavaScript are not judged by types"
            remedy = f"`llmch doctor --fetch {tool.name}` fetches version {tool.version}"
            yield Checkup("tools", Health.WELL, f"{detail}; {remedy}")
