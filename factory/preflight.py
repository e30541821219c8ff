"""Checks a repository before anything in it changes, chooses the branch, and locks it for one
run.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from shared.errors import Busy, CommandFailed, InvalidInput, PreflightRefused
from shared.events.events import Emit, Warned
from shared.files.atomic_io import write_refused
from shared.files.paths import fold_path
from shared.files.text_sources import read_plain
from shared.git import refs, repos, trees
from shared.git.client import (
    Changes,
    Checkout,
    ConfigEntry,
    Git,
    repo_filters,
    repo_programs,
    without_repo_filters,
)

_SHOWN = 5


def printable(path: str) -> str:
    """Return `path`, with escapes and in quotes if it contains an unprintable character."""
    return path if path.isprintable() else repr(path)


def name_paths(paths: Collection[str]) -> str:
    """Return the first few of `paths` separated by commas, and the number of the others."""
    shown = ", ".join(printable(path) for path in list(paths)[:_SHOWN])
    return f"{shown} and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else shown


_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
}


class BranchPolicy(StrEnum):
    """Say whether the target branch must be new, must exist, or may be either."""

    CREATE = "create"
    REUSE = "reuse"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class RepoPlace:
    """Locate a repo: its working tree, its git folder, and the git folder that its trees share.

    `git` runs no filters that only the repo's own config defines, unless the user allowed them.
    `ignored_filters` names those filters that the repo's attributes ask for.
    """

    git: Git
    tree: Path
    git_dir: Path
    common_dir: Path
    ignored_filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repo(RepoPlace):
    """Describe the user's checkout as it was found.

    A run reads the checkout, and later fast-forwards it at most. `changed` are the tracked files
    whose changes are not committed: a run does not see these changes.
    """

    head: str
    branch: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetBranch:
    """Hold the branch that verified commits go to, and its tip.

    The tip of a branch that does not exist yet is the commit that it will start from: that of
    `upstream`, the branch of `origin` with its name, where the repo knows one.
    """

    branch: str
    tip: str
    exists: bool
    upstream: str = ""


def find_repo(folder: Path, *, allow_repo_filters: bool = False) -> RepoPlace:
    """Return where the repo of `folder` is.

    Its git runs the repo's own filters only with `allow_repo_filters`. Raises `InvalidInput` if
    the folder does not exist, and `PreflightRefused` if it is not in a repo or if the repo has no
    working tree.
    """
    if not folder.is_dir():
        raise InvalidInput(f"--repo {folder}: no such folder", "name the root of a git repo")
    git = Git(folder.resolve())
    try:
        layout = repos.layout(git)
    except CommandFailed as failed:
        raise PreflightRefused(failed.message, failed.hint) from failed
    if layout is None:
        raise _no_working_tree(git, folder)
    tree, git_dir, common = layout
    git = git.at(tree)
    if allow_repo_filters:
        return RepoPlace(git, tree, git_dir, common)
    entries = repos.read_config(git)
    git = git.with_config(without_repo_filters(entries))
    return RepoPlace(git, tree, git_dir, common, _filters_in_use(tree, entries))


def inspect_repo(
    place: RepoPlace, *, allow_dirty: bool = False, allow_detached: bool = False
) -> Repo:
    """Return the repo as it is, without changing anything.

    Untracked files do not matter here: a run works on committed files only. Raises
    `PreflightRefused` with the reason if a run cannot start from this state, which is also that
    tracked files have changed, unless `allow_dirty` is set, and that no branch is checked out,
    unless `allow_detached` is.
    """
    refuse_symbolic(place.common_dir, refs.OWN_REFS)
    changes = repos.changes(place.git)
    _refuse_unready(place.tree, place.git_dir, changes)
    if not changes.branch and not allow_detached:
        raise PreflightRefused(
            f"HEAD of {place.tree} is detached",
            "say where commits go by --branch B, or check out a branch: `git switch BRANCH`",
        )
    if changes.changed and not allow_dirty:
        raise PreflightRefused(
            f"{place.tree} has uncommitted changes: {name_paths(changes.changed)}",
            "commit or undo these changes, or work from HEAD without them by --allow-dirty",
        )
    return Repo(
        *(place.git, place.tree, place.git_dir, place.common_dir, place.ignored_filters),
        head=changes.head,
        branch=changes.branch,
        changed=changes.changed,
    )


def find_refusals(
    place: RepoPlace, *, allow_detached: bool = False
) -> tuple[PreflightRefused, ...]:
    """Return what keeps a run without further options from this repo as it is now."""
    found: dict[str, PreflightRefused] = {}
    for dirty in (False, True):  # each refusal hides what would be refused after it
        try:
            inspect_repo(place, allow_dirty=dirty, allow_detached=allow_detached or not dirty)
        except PreflightRefused as refused:
            found.setdefault(refused.message, refused)
    return tuple(found.values())


def choose_target(
    repo: Repo,
    branch: str,
    policy: BranchPolicy,
    protected: Collection[str],
    start: str | None = None,
) -> TargetBranch:
    """Return the branch to work on; a new one will start from `start`, HEAD by default.

    Raises `PreflightRefused` if the branch is protected, if its name or its checkout cannot be
    used, if it exists or is missing against `policy`, if it is not at `start`, or if it is checked
    out with uncommitted changes.
    """
    _refuse_branch(repo, branch, protected)
    ref = f"refs/heads/{branch}"
    local, remote = refs.commits_of(repo.git, ref, f"refs/remotes/origin/{branch}")
    upstream = "" if local else f"origin/{branch}"
    tip = local or remote
    if tip and policy is BranchPolicy.CREATE:
        raise PreflightRefused(
            f"branch {(upstream or branch)!r} exists already",
            "leave out --create-branch to continue this branch, or name another branch",
        )
    if not tip and policy is BranchPolicy.REUSE:
        raise PreflightRefused(
            f"branch {branch!r} does not exist",
            "leave out --reuse-branch to create the branch, or name an existing branch",
        )
    if local:
        _refuse_missing_checkout(repo.git, branch)
    elif in_the_way := refs.in_the_way(repo.git, ref):
        raise PreflightRefused(
            f"branch {branch!r} cannot be made: {in_the_way[0]} is in its way",
            "name another branch with --branch",
        )
    begin = start_commit(repo, start)
    if tip and start and tip != begin:
        raise PreflightRefused(
            f"branch {(upstream or branch)!r} is at {tip[:12]}, "
            f"not at {begin[:12]} as --commit-hash says",
            "leave out --commit-hash to continue the branch from its tip",
        )
    return TargetBranch(branch, tip or begin, bool(local), upstream if tip else "")


def refuse_symbolic(common_dir: Path, names: Iterable[str]) -> None:
    """Raise `PreflightRefused` if git would write another ref instead of one of `names`."""
    for name in names:
        if target := refs.leads_to(common_dir, name):
            raise PreflightRefused(
                f"{name} of the repo only leads to {printable(target)}, which llmch would write",
                f"remove it: `git symbolic-ref --delete {name}`, or the link in the git folder",
            )


def name_what_is_set_aside(git: Git, emit: Emit) -> None:
    """Say which settings of the repo's own config do not count where a remote is reached."""
    if names := repo_programs(repos.read_config(git)):
        emit(
            Warned(
                "remotes are reached without what only the repo's own config says: "
                f"{name_paths(names)}; if a setting is yours, set it by `git config --global`"
            )
        )


def checkout_of(branch: str, checkouts: Collection[Checkout]) -> Checkout | None:
    """Return the working tree that has `branch` checked out, if any."""
    return next((each for each in checkouts if each.branch == branch), None)


def _refuse_branch(repo: Repo, branch: str, protected: Collection[str]) -> None:
    refuse_name(repo.git, branch, protected)
    refuse_symbolic(repo.common_dir, [f"refs/heads/{branch}"])
    for each in sorted(protected):
        if refs.leads_to(repo.common_dir, f"refs/heads/{each}") == f"refs/heads/{branch}":
            raise _protected(branch, f", since {each!r} leads to it")
    if branch == repo.branch and repo.changed:
        # Nobody could distinguish a landing that was cut off from the person's own changes.
        raise PreflightRefused(
            f"branch {branch!r} is checked out in {repo.tree}, with uncommitted changes: "
            f"{name_paths(repo.changed)}",
            "commit or undo these changes, or name another branch with --branch",
        )


# What git and people put before the name of a branch, and still mean that branch.
_PREFIX = re.compile(r"(refs/)?(heads|remotes/[^/]+)/|origin/")
_NAMES_OF_HEAD = ("head", "@")


def refuse_name(git: Git, branch: str, protected: Collection[str]) -> None:
    """Raise `PreflightRefused` if git refuses the name, or it is that of a protected branch.

    That holds in any spelling which a file system, git or a person takes for the same: `Main`,
    `heads/main`. `@` and `HEAD` are what is checked out, and not names.
    """
    plain = unicodedata.normalize("NFKC", branch)
    spelled = fold_path("".join(each for each in plain if unicodedata.category(each) != "Cf"))
    while found := _PREFIX.match(spelled):
        spelled = spelled[found.end() :]
    if same := next((each for each in sorted(protected) if fold_path(each) == spelled), ""):
        raise _protected(branch, "" if same == branch else f", as another spelling of {same!r}")
    if not refs.branch_name_allowed(git, branch):
        raise PreflightRefused(
            f"git refuses {branch!r} as the name of a branch",
            "`git help check-ref-format` lists the rules for a branch name",
        )
    if spelled in _NAMES_OF_HEAD:
        raise PreflightRefused(
            f"{branch!r} means what is checked out to git, whichever branch that is",
            "name another branch with --branch",
        )


def _protected(branch: str, why: str = "") -> PreflightRefused:
    return PreflightRefused(
        f"branch {branch!r} is protected{why}: llmch never commits to it",
        "name another branch with --branch, and merge it yourself after review",
    )


def _refuse_missing_checkout(git: Git, branch: str) -> None:
    checkout = checkout_of(branch, repos.checkouts(git))
    if checkout and not checkout.path.is_dir():
        raise PreflightRefused(
            f"branch {branch!r} is checked out in {checkout.path}, which does not exist",
            "restore that folder, or run `git worktree prune` to make git forget it",
        )


def start_commit(repo: Repo, start: str | None) -> str:
    """Return the commit that a new branch starts from: `start`, or HEAD without one.

    Raises `PreflightRefused` if `start` names no commit.
    """
    if start is None:
        return repo.head
    commit = refs.commit_of(repo.git, start)
    if not commit:
        raise PreflightRefused(
            f"--commit-hash {start!r} does not name a commit of this repo",
            "give a full hash, or a unique abbreviation",
        )
    return commit


def _no_working_tree(git: Git, folder: Path) -> PreflightRefused:
    if repos.is_bare(git):
        return PreflightRefused(
            f"{folder.resolve()} is a bare repo",
            "clone it or add a worktree to it, and name that folder",
        )
    return PreflightRefused(
        f"{folder.resolve()} is not a git repo",
        "run `git init` there and make a first commit, or name another folder with --repo",
    )


def _refuse_unready(tree: Path, git_dir: Path, changes: Changes) -> None:
    for name, what in _UNDER_WAY.items():
        if (git_dir / name).exists():
            raise PreflightRefused(
                f"{what} is under way in {tree}", "finish or abort it, then try again"
            )
    if not changes.head:
        raise PreflightRefused(
            f"{tree} has no commits yet", "make a first commit: `git commit --allow-empty -m start`"
        )


def _filters_in_use(tree: Path, entries: tuple[ConfigEntry, ...]) -> tuple[str, ...]:
    """Return the repo's own filters that the `.gitattributes` file at its root asks for."""
    names = repo_filters(entries)
    if not names:
        return ()
    asked = set(_filters_asked_for(tree))
    return tuple(name for name in names if name in asked)


def _filters_asked_for(tree: Path) -> Iterator[str]:
    try:
        text = read_plain(tree / ".gitattributes").decode(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        for word in line.split()[1:]:
            name, _, value = word.partition("=")
            if name == "filter" and value:
                yield value


_ASKED_AT_ONCE = 500  # paths on one command line of git


def untracked_in_the_way(git: Git, paths: Iterable[str]) -> tuple[str, ...]:
    """Return what git does not track in its working tree and a file at one of `paths` would hit.

    That is a file at such a path or where one of its folders would be, and a folder where the file
    would be, which is returned with a slash at its end. Ignored files count too: git overwrites
    them without a question when a person switches branches. Names are compared in any letter case
    and Unicode form, as some file systems do. The result is sorted.
    """
    disk = _FolderNames(git.folder)
    standing = sorted({each for path in paths for each in disk.standing_at(path)})
    tracked = _tracked(git, standing)
    own = [each for each in standing if each.rstrip("/") not in tracked]
    if not own:
        return ()
    inside = tuple(f"{each}/" for each in trees.submodules_of(git, "HEAD"))
    return tuple(each for each in own if not each.startswith(inside))


def _tracked(git: Git, paths: list[str]) -> set[str]:
    names = [each.rstrip("/") for each in paths]
    found: set[str] = set()
    for start in range(0, len(names), _ASKED_AT_ONCE):
        for each in trees.staged_entries(git, names[start : start + _ASKED_AT_ONCE]):
            found.update(_with_folders(each))
    return found


def _with_folders(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class _FolderNames:
    """Find names in a folder tree; each folder is listed once."""

    root: Path
    _listings: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def standing_at(self, path: str) -> Iterator[str]:
        """Yield what would have to go, or would be overwritten, for a file to be at `path`."""
        places = [""]
        *folders, name = path.split("/")
        for part in folders:
            found = [each for place in places for each in self._entries(place, part)]
            places = [each for each in found if self._is_folder(each)]
            yield from (each for each in found if each not in places)
        for place in places:
            for each in self._entries(place, name):
                yield f"{each}/" if self._is_folder(each) else each

    def _entries(self, folder: str, name: str) -> list[str]:
        if folder not in self._listings:
            listing: dict[str, list[str]] = {}
            try:
                names = [each.name for each in (self.root / folder).iterdir()]
            except OSError:  # a folder that cannot be listed cannot be compared either
                names = []
            for each in names:
                found = f"{folder}/{each}" if folder else each
                listing.setdefault(fold_path(each), []).append(found)
            self._listings[folder] = listing
        return self._listings[folder].get(fold_path(name), [])

    def _is_folder(self, path: str) -> bool:
        try:
            return stat.S_ISDIR((self.root / path).lstat().st_mode)
        except OSError:
            return False


_PATIENCE_SECONDS = 30.0  # how long to wait for the git process of a killed run to end
_LOOK_EVERY_SECONDS = 0.05


@contextlib.contextmanager
def hold(common_dir: Path) -> Iterator[int]:
    """Lock the repo while the block runs, and yield the lock's file descriptor.

    The lock also lasts as long as a process that inherits the descriptor. So a killed run still
    holds it while one of its git processes runs; `hold` waits for that process. Raises `Busy` with
    the holder's pid if another run holds the lock, and `PreflightRefused` if the git folder cannot
    be written.
    """
    folder = common_dir / "llmch"
    hint = f"make the git folder writable, as by `sudo chown -R {os.geteuid()} {common_dir}`"
    for each in map(common_dir.joinpath, ("objects", "refs", "refs/heads", "worktrees")):
        # Git would refuse only when the first commit is made, which is paid for by then.
        if each.exists() and not os.access(each, os.W_OK | os.X_OK, effective_ids=True):
            raise PreflightRefused(f"cannot write to {each}", hint)
    try:
        folder.mkdir(exist_ok=True)
        # Not truncated on open: the file holds the other run's pid until this run has the lock.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(folder / "lock", flags, 0o644)
    except OSError as error:
        raise PreflightRefused(f"cannot write to {folder}: {error.strerror}", hint) from error
    try:
        _lock(descriptor)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            raise write_refused(folder / "lock", error, hint="free some space there") from error
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(descriptor)
            if pid is None or _lives(pid) or time.monotonic() > until:
                raise Busy(
                    f"another run (pid {pid or 'unknown'}) is working on this repo",
                    "wait until that run ends; `llmch status` shows its progress",
                ) from None
        time.sleep(_LOOK_EVERY_SECONDS)


def _pid_in(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def holder(common_dir: Path) -> int | None:
    """Return the pid of the run that holds the repo, 0 if it is unknown, `None` if none does."""
    try:
        descriptor = os.open(common_dir / "llmch" / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid_in(descriptor) or 0
    finally:
        os.close(descriptor)
    return None
