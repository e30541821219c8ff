"""Opens, resets and sweeps a working tree outside the repository, and commits from it.

`git clean` leaves FIFOs, sockets, repos inside tracked folders and the contents of submodules
behind. It gives up on folders without permissions, and on folders nested too deep for a path. Any
such leftover could change how a later attempt is judged.

Nothing in this module writes to the user's checkout.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, Self, TypeVar

from factory.preflight import printable
from factory.workbench.tree import Tree
from shared.errors import CommandFailed, EnvironmentFault
from shared.files.atomic_io import is_disk_full
from shared.git import repos, trees
from shared.git.client import Git

_MOST_LISTINGS: Final = 8


class Listings:
    """Hold what the trees of the latest commits hold, for all workspaces of a repo."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._submodules: dict[str, frozenset[str]] = {}
        self._lock = threading.Lock()

    def files_of(self, git: Git, commit: str) -> frozenset[str]:
        """Return the paths of a commit's files."""
        with self._lock:
            known = self._files.get(commit)
        if known is None:
            known = frozenset(trees.files_of(git, commit))
            self.remember(commit, known)
        return known

    def remember(self, commit: str, files: frozenset[str]) -> None:
        """Record the paths of a commit's files; the oldest ones are forgotten."""
        with self._lock:
            self._files[commit] = files
            if len(self._files) > _MOST_LISTINGS:
                self._files.popitem(last=False)

    def submodules_of(self, git: Git, commit: str) -> frozenset[str]:
        """Return the folders of a commit's submodules."""
        with self._lock:
            if commit not in self._submodules:
                self._submodules = {commit: frozenset(trees.submodules_of(git, commit))}
            return self._submodules[commit]


A = TypeVar("A")
B = TypeVar("B")


def side_by_side(here: Callable[[], A], beside: Callable[[], B]) -> tuple[A, B]:
    """Run `here`, and `beside` in another thread; return the results of both.

    Both have ended when `side_by_side` returns or raises. If both raise, the exception of `here`
    is raised.
    """
    other = _threads().submit(beside)
    try:
        result = here()
    finally:
        wait((other,))
    return result, other.result()


def in_background(act: Callable[[], A]) -> Future[A]:
    """Run `act` in another thread; the caller waits for it before the repo is let go."""
    return _threads().submit(act)


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the pool of threads, which is kept.

    Starting a thread takes as long as some of the functions that it would run. Each caller needs
    one thread.
    """
    return ThreadPoolExecutor(max_workers=_MOST_AT_ONCE, thread_name_prefix="side by side")


_MOST_AT_ONCE = 64


# Called for each file, where `pathlib` would take longer than the system does:
# ruff: noqa: PTH101, PTH104, PTH106, PTH108, PTH118


_ACCESS = os.R_OK | os.W_OK | os.X_OK


@dataclass(frozen=True, slots=True)
class Listing:
    """List what belongs in a tree: the paths of its files, and of the folders that hold them.

    The folder of a submodule belongs in the tree too, but nothing inside that folder does. The
    `linked` paths belong to the sandbox: nobody looks at them.
    """

    files: frozenset[str]
    folders: frozenset[str]
    linked: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, files: Iterable[str], submodules: Iterable[str], linked: Iterable[str] = ()
    ) -> Self:
        """Return the listing of a tree that holds these files, submodules and linked folders."""
        folders, places = frozenset(submodules), frozenset(linked)
        above = _folders_of(folders | places)
        return cls(frozenset(), folders | above, places).with_files(files)

    def with_files(self, paths: Iterable[str]) -> Self:
        """Return the listing with `paths` as further files."""
        added = frozenset(paths) - self.folders
        return replace(self, files=self.files | added, folders=self.folders | _folders_of(added))


def _folders_of(paths: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def find_leftovers(root: Path, expected: Listing) -> tuple[Path, ...]:
    """Return every path below `root` that is not expected there, except the `.git` of `root`.

    A folder that does not belong there is returned without its contents. A folder in the place of
    a file is a leftover. Git sees anything else in the place of a file, so it is not returned.
    Raises `OSError`.
    """
    files, folders = expected.files, expected.folders
    found: list[str] = []
    waiting = [""]
    while waiting:
        here = waiting.pop()
        for entry in _entries(os.path.join(root, here)):
            path = here + entry.name
            if path in expected.linked:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and path in folders:
                waiting.append(path + "/")
            elif (is_folder or path not in files) and path != ".git":
                found.append(entry.path)
    return tuple(map(Path, found))


def discard(paths: Iterable[Path], beside: Path) -> None:
    """Remove files and folders by way of a new folder in `beside`. Raises `OSError`.

    Each folder is moved into the new folder before it is emptied. So no path grows long, however
    deep the folders were nested.
    """
    paths = tuple(paths)  # now, because `paths` may list `beside`, where the new folder will be
    if not paths:
        return
    trash = tempfile.mkdtemp(prefix="trash-", dir=beside)
    numbers = itertools.count()
    waiting: list[str] = []

    def remove(path: str, is_folder: bool) -> None:
        if is_folder:
            os.chmod(path, 0o700)  # moving a folder requires the permission to write to it
            waiting.append(f"{trash}/{next(numbers)}")
            os.rename(path, waiting[-1])
        else:
            os.unlink(path)

    for path in paths:
        remove(str(path), path.is_dir() and not path.is_symlink())
    while waiting:
        folder = waiting.pop()
        for entry in _entries(folder):
            remove(entry.path, entry.is_dir(follow_symlinks=False))
        os.rmdir(folder)
    os.rmdir(trash)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    if not os.access(folder, _ACCESS, effective_ids=True):
        os.chmod(folder, 0o700)
    with os.scandir(folder) as entries:
        return list(entries)


_OWNER = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID
_OWN_CONFIG = (
    # The whole tree is judged, and links are links, whatever the user's own config says.
    ("core.sparseCheckout", "false"),
    ("core.symlinks", "true"),
    # Git sees a change even if the file has the same size and modification time as before.
    ("core.checkStat", "default"),
    ("core.trustctime", "true"),
    ("core.ignoreStat", "false"),
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Hold what belongs in the tree of a commit.

    `exact` is true if the tree was seen to hold exactly the commit.
    """

    commit: str
    listing: Listing
    exact: bool = False


@dataclass(slots=True)
class Workspace:
    """Hold a detached working tree and its baseline, the commit that an attempt starts from.

    `private` is a folder beside the tree for the commands' temporary files. `linked` are the paths
    at which commands find folders of the user's checkout.
    """

    repo: Git
    root: Path
    private: Path
    baseline: str
    submodules: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()
    listings: Listings = field(default_factory=Listings)
    _seen: _Seen | None = field(default=None, init=False)

    @property
    def git(self) -> Git:
        return self.repo.at(self.root).with_config(_OWN_CONFIG)

    @property
    def tree(self) -> Tree:
        return Tree(self.root, self.submodules, self.linked)

    def link(self, paths: frozenset[str]) -> None:
        """Leave `paths` to the sandbox. The next reset removes what earlier links left behind."""
        self.linked = paths
        self._seen = None

    def relink(self, paths: frozenset[str]) -> None:
        """Leave `paths` to the sandbox instead of those before, of which nothing stays.

        No command may be running. Raises `CommandFailed` if the disk refuses.
        """
        before = [self.root / each for each in self.linked - paths]
        with self._refusals_reported():
            discard([each for each in before if os.path.lexists(each)], beside=self.root.parent)
        self.link(paths)

    @property
    def files(self) -> frozenset[str]:
        return self._look_up(self.baseline).listing.files

    def tracks(self, path: str) -> bool:
        """Return whether the baseline has a file at `path` or below it."""
        listing = self._look_up(self.baseline).listing
        return any(f"{each}/".startswith(f"{path}/") for each in listing.files)

    def foresee(self, commit: str, paths: Sequence[str], removed: Sequence[str]) -> None:
        """Spare git a question: `commit` is the baseline with `paths`, and without `removed`."""
        if not removed:  # with a folder, files may go that nobody named
            self.listings.remember(commit, self.files.union(paths))

    def reset(self) -> None:
        """Make the tree exactly the baseline again, whatever commands left in it."""
        seen = self._look_up(self.baseline)
        # `exact` holds until commands run again, and they may run once this method has returned.
        self._seen = replace(seen, exact=False)
        if seen.exact:
            return
        with self._refusals_reported():
            discard(find_leftovers(self.root, seen.listing), beside=self.root.parent)
        repos.reset(self.git, self.baseline)

    def restore(self) -> None:
        """Do what `reset` does, faster if the commands left nothing: look first, then reset."""
        seen = self._look_up(self.baseline)
        with self._refusals_reported():
            littered, unchanged = side_by_side(
                lambda: bool(find_leftovers(self.root, seen.listing)),
                lambda: repos.is_exactly(self.git, self.baseline),
            )
        self._seen = replace(seen, exact=unchanged and not littered)
        self.reset()

    def settle(
        self, commit: str, paths: Sequence[str], removed: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Set the tree to `commit`; return the files that differ from it.

        `commit` is the baseline with `paths` written, and without the files `removed`. The files
        returned are those in the working tree that differ from the commit, without `paths` and
        without files that git ignores. A name that cannot be printed is returned with escapes. No
        ref moves except HEAD of this working tree. The commands must have ended. If nothing
        differs, ignored files included, a reset to the commit has nothing left to do.
        """
        # A file that is removed may take folders with it, so the listing is made anew.
        listing = (
            self._listing_of(commit)
            if removed
            else self._look_up(self.baseline).listing.with_files(paths)
        )

        def move_and_look() -> bool:
            repos.detach_head(self.git, commit)
            return bool(find_leftovers(self.root, listing))

        with self._refusals_reported():
            # Git compares the tracked files while `find_leftovers` looks for all other files.
            littered, unchanged = side_by_side(
                move_and_look, lambda: repos.is_exactly(self.git, commit)
            )
        exact = unchanged and not littered
        self._seen = _Seen(commit, listing, exact)
        return () if exact else self._drift(paths)

    def _drift(self, paths: Sequence[str]) -> tuple[str, ...]:
        changes = repos.changes(self.git, own_tree=True)
        differing = {*changes.changed, *changes.untracked}.difference(paths)
        linked = tuple(f"{each}/" for each in self.linked)
        others = (each for each in differing if not f"{each}/".startswith(linked))
        return tuple(sorted(map(printable, others)))

    def _look_up(self, commit: str) -> _Seen:
        if self._seen is None or self._seen.commit != commit:
            self._seen = _Seen(commit, self._listing_of(commit))
        return self._seen

    def _listing_of(self, commit: str) -> Listing:
        files = self.listings.files_of(self.git, commit)
        return Listing.of(files, self.submodules, self.linked)

    @contextlib.contextmanager
    def _refusals_reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CommandFailed(
                f"rollback failed: {_refusal(error, self.root)}",
                f"{how_to_remove(self.root.parent)}; the next run makes a new workspace",
            ) from error


def open_workspace(
    repo: Git, root: Path, commit: str, listings: Listings | None = None
) -> Workspace:
    """Check `commit` out into a new tree at `root`, whose parent folder belongs to the run.

    Raises `CommandFailed` if disk or git refuse. A failure leaves nothing behind.
    """
    private = root.with_name(f"{root.name}.private")  # never the name of the tree itself
    try:
        private.mkdir(mode=0o700, parents=True)
        root.parent.chmod(0o700)
    except OSError as error:
        raise workspace_refused(root.parent, error) from error
    workspace = Workspace(repo, root, private, commit, listings=listings or Listings())
    try:
        repos.add(workspace.git.at(repo.folder), root, commit)
        workspace.submodules = workspace.listings.submodules_of(repo, commit)
    except BaseException:
        close_workspace(repo, root)
        raise
    return workspace


def close_workspace(repo: Git, root: Path) -> str:
    """Remove the tree at `root` with everything beside it; do nothing if it is gone already.

    Commits made in the tree stay in the repo's object store. Returns what `remove_tree` does.
    """
    left = remove_tree(root)
    repos.forget(repo, root)
    return left


def remove_tree(root: Path) -> str:
    """Remove the tree at `root` with everything beside it; the repo still lists it.

    Returns what cannot be removed, why, and what removes it; "" if nothing is left. It must not
    hide the verdict, so it is not an error. The next start tries again.
    """
    try:
        try:
            discard(root.parent.iterdir(), beside=root.parent)
        except OSError:  # a disk may be too full for one more folder
            shutil.rmtree(root.parent)
        else:
            root.parent.rmdir()
    except FileNotFoundError:
        return ""
    except (OSError, RecursionError) as error:
        return f"{_refusal(error, root.parent)}: {how_to_remove(root.parent)}"
    return ""


def _refusal(error: OSError | RecursionError, folder: Path) -> str:
    path = getattr(error, "filename", None) or folder
    return f"{path} cannot be removed ({getattr(error, 'strerror', None) or error})"


def how_to_remove(folder: Path) -> str:
    """Return the command that removes a folder with immutable files, or with those of others."""
    name = shlex.quote(str(folder))
    return f"end what uses it, and remove it by `sudo chattr -R -i {name}; sudo rm -rf {name}`"


def workspace_refused(folder: Path, error: OSError) -> CommandFailed:
    """Return the error that says that no workspace can be made at `folder`, and why."""
    refused = EnvironmentFault if is_disk_full(error) else CommandFailed
    return refused(
        f"cannot make a workspace at {folder}: {error.strerror or error}",
        "free space there, or set LLMCH_WORKSPACES to another folder",
    )


def is_root_of(owner: str, root: Path) -> bool:
    """Return whether `root` has the form that a pool gives to a working tree of this owner.

    A record that names a working tree is only as safe as the repo that contains it, and the whole
    tree is removed.
    """
    number, folder = root.parent, root.parent.parent
    linked = number.is_symlink() or folder.is_symlink()  # a link at `root` is never followed
    named = _OWNER.fullmatch(owner) and folder.name == owner and number.name.isdigit()
    return root.is_absolute() and bool(named) and not linked and ".." not in root.parts


def workspaces_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds all workspaces.

    It is `LLMCH_WORKSPACES`, else a folder in the user's cache, else one for temporary files.
    """
    given = environ.get("LLMCH_WORKSPACES", "")
    cache = environ.get("XDG_CACHE_HOME", "")
    home = environ.get("HOME", "")
    if given:
        return Path(given).absolute()
    if Path(cache).is_absolute():
        return Path(cache) / "llmch" / "workspaces"
    if home and os.access(home, os.W_OK):
        return Path(home) / ".cache" / "llmch" / "workspaces"
    return Path(tempfile.gettempdir()) / f"llmch-{os.getuid()}" / "workspaces"


def dependencies_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds the environments made for targets' dependencies."""
    return workspaces_root(environ).parent / "environments"


def seeds_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds what build caches begin with."""
    return workspaces_root(environ).parent / "seeds"
