"""Opens, resets and sweeps a working tree outside the repository, and commits from it.

Nothing in this module writes to the user's checkout.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from factory.workbench.leftovers import (
    NOTHING_UNDONE,
    Listing,
    TreeWatch,
    Undone,
    discard,
    files_below,
    find_leftovers,
)
from factory.workbench.tree import Tree
from shared.errors import CommandFailed, EnvironmentFault
from shared.events.run_record import is_run_id
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
            known = self._submodules.get(commit)
        if known is None:
            files, known = trees.files_and_submodules_of(git, commit)
            self.remember(commit, files)  # which are asked for next
            self._submodules = {commit: known}
        return known


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


_IGNORES: Final = ".gitignore"
_OWN_CONFIG = (
    # The whole tree is judged, and links are links, whatever the user's own config says.
    ("core.sparseCheckout", "false"),
    ("core.symlinks", "true"),
    # Git sees a change even if the file has the same size and modification time as before.
    ("core.checkStat", "default"),
    ("core.trustctime", "true"),
    ("core.ignoreStat", "false"),
    ("core.fileMode", "true"),
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Hold what belongs in the tree of a commit.

    `exact` is true if the tree was seen to hold exactly the commit.
    """

    commit: str
    listing: Listing
    exact: bool = False


@dataclass(frozen=True, slots=True)
class _JudgedTree:
    """Hold what belongs in the tree that commands judge, and the files that the order removes.

    `untouched` says whether the tree is known to be exactly that; `watched` whether the watch would
    have heard of any change since.
    """

    listing: Listing
    removed: frozenset[str]
    untouched: bool = False
    watched: bool = False


@dataclass(slots=True)
class Workspace:
    """Hold a detached working tree and its baseline, the commit that an attempt starts from.

    `private` is a folder beside the tree for the commands' temporary files. `linked` are the paths
    at which commands find folders of the user's checkout. `watch` hears what commands touch, where
    their sandbox lets its silence count.
    """

    repo: Git
    root: Path
    private: Path
    baseline: str
    submodules: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()
    listings: Listings = field(default_factory=Listings)
    watch: TreeWatch | None = None
    head: Path | None = None
    """The file with the commit of the tree, where there is one."""
    _seen: _Seen | None = field(default=None, init=False)
    _judged: _JudgedTree | None = field(default=None, init=False)
    _at_rest: bool = field(default=False, init=False)
    """Whether the tree was its baseline when the watch began."""

    @property
    def git(self) -> Git:
        return self.repo.at(self.root).with_config(_OWN_CONFIG)

    @property
    def tree(self) -> Tree:
        return Tree(self.root, self.submodules, self.linked)

    def link(self, paths: frozenset[str]) -> None:
        """Leave `paths` to the sandbox. The next reset removes what earlier links left behind."""
        self.linked = paths
        self._seen, self._at_rest = None, False

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
        if not seen.exact:
            with self._refusals_reported():
                discard(find_leftovers(self.root, seen.listing), beside=self.root.parent)
            repos.reset(self.git, self.baseline)
        self._at_rest = self._begin_watch(seen.listing)

    def restore(self) -> None:
        """Do what `reset` does, faster if the commands left nothing: look first, then reset."""
        if self._at_rest and self._is_silent():
            return
        seen = self._look_up(self.baseline)
        with self._refusals_reported():
            littered, unchanged = side_by_side(
                lambda: bool(find_leftovers(self.root, seen.listing)),
                lambda: repos.is_exactly(self.git, self.baseline),
            )
        self._seen = replace(seen, exact=unchanged and not littered)
        self.reset()

    def take_back(self, known: Collection[str]) -> tuple[str, ...]:
        """Make the tree its baseline again, and name what differed from it except `known` files.

        Files that the tree's own rules ignore are removed and not named. No command may be running,
        and none may have changed the index. Raises `CommandFailed` if disk or git refuse.
        """
        seen = self._look_up(self.baseline)
        with self._refusals_reported():
            found = find_leftovers(self.root, seen.listing)
            names = {str(each.relative_to(self.root)): each for each in found}
            unknown = [each for each in names if each not in known]
            below = {each: (*files_below(self.root, names[each]),) for each in unknown}
            discard(found, beside=self.root.parent)
            changed = repos.restore_staged(self.git)
            unknown = self._without_ignored(unknown, ())
        self._seen = replace(seen, exact=True)
        self.reset()
        differing = {*changed, *(file for each in unknown for file in below[each] or (each,))}
        return tuple(sorted(differing.difference(known)))

    def expect(self, written: Iterable[str] = (), removed: Collection[str] = ()) -> None:
        """Note the tree that commands will judge: the baseline with and without these files.

        The tree is as it should be, because it was the baseline and only these files were changed,
        and the index holds it.
        """
        listing = self._look_up(self.baseline).listing.with_files(written)
        if removed:  # folders go with their files, and a file may take the place of one
            files = self.files.union(written).difference(removed)
            listing = Listing.of(files, self.submodules, self.linked)
        watched, self._at_rest = self._begin_watch(listing), False
        self._judged = _JudgedTree(listing, frozenset(removed), untouched=watched, watched=watched)

    def _begin_watch(self, listing: Listing) -> bool:
        return self.watch is not None and self.watch.begin(listing.folders - listing.linked)

    def _is_silent(self) -> bool:
        return self.watch is not None and self.watch.is_silent()

    def undo(self) -> Undone:
        """Restore the tree that is judged, after a command; return what had to be undone.

        So the next command judges what will be committed. What the tree's own `.gitignore` files
        match stays: build outputs that the next command may use. The ignore rules of the user or
        of the repo's git folder do not count, since the tree does not hold them. No command may be
        running. Raises `CommandFailed` if disk or git refuse.
        """
        judged = self._judged
        assert judged is not None, "`expect` says what is judged"
        if judged.watched and judged.untouched and self._is_silent():
            return NOTHING_UNDONE
        with self._refusals_reported():
            # Git compares the tracked files while `find_leftovers` looks for all other files.
            found, as_staged = side_by_side(
                lambda: find_leftovers(self.root, judged.listing),
                lambda: repos.is_as_staged(self.git),
            )
            undone, kept = NOTHING_UNDONE, False
            if found or not as_staged:
                places = {str(each.relative_to(self.root)): each for each in found}
                undone, kept = self._undo(judged, places)
            untouched = not kept
            watched = untouched and self._begin_watch(judged.listing)
            self._judged = replace(judged, untouched=untouched, watched=watched)
            return undone

    def _undo(self, judged: _JudgedTree, found: Mapping[str, Path]) -> tuple[Undone, bool]:
        """Return what was undone, and whether ignored files were left in the tree."""
        # A planted ignore file must not decide what is ignored.
        first = {
            path: place
            for path, place in found.items()
            if judged.listing.replaces(path) or path.rpartition("/")[2] == _IGNORES
        }
        others = [path for path in found if path not in first]
        listed = trees.untracked_files(self.git) if found else frozenset()
        made = [each for path in first for each in files_below(self.root, found[path])]
        discard(first.values(), beside=self.root.parent)
        changed = repos.restore_staged(self.git)
        gone = self._without_ignored(others, judged.removed)
        made += [each for path in gone for each in files_below(self.root, found[path])]
        discard([found[path] for path in gone], beside=self.root.parent)
        made = [each for each in made if each not in judged.listing.files]
        undone = Undone(
            tuple(sorted(changed)),
            tuple(sorted(each for each in made if each in listed)),
            tuple(sorted(each for each in made if each not in listed)),
        )
        return undone, len(gone) < len(others)

    def _without_ignored(self, paths: Sequence[str], removed: Collection[str]) -> list[str]:
        """Return `paths` without those that the tree's rules ignore and nobody has removed."""
        asked = [path for path in paths if not self._is_in_submodule(path)]
        ignored = trees.ignored_by_tree(self.git, asked) if asked else frozenset()
        return [
            path
            for path in paths
            if path not in ignored or any(f"{each}/".startswith(f"{path}/") for each in removed)
        ]

    def _is_in_submodule(self, path: str) -> bool:
        """Return whether git would answer by the rules of another repo, which do not count."""
        return any(path.startswith(f"{each}/") for each in self.submodules)

    def settle(self, commit: str, paths: Sequence[str], removed: Sequence[str] = ()) -> None:
        """Set HEAD of the tree to `commit`: the baseline with `paths`, and without `removed`.

        No other ref moves. The commands must have ended. If nothing differs from the commit,
        ignored files included, a reset to the commit has nothing left to do.
        """
        # A file that is removed may take folders with it, so the listing is made anew.
        listing = (
            self._listing_of(commit)
            if removed
            else self._look_up(self.baseline).listing.with_files(paths)
        )
        judged, self._judged = self._judged, None
        repos.detach_head(self.git, commit, self.head)
        # Where files are removed, an empty folder may be left, which nobody looked for.
        exact = judged is not None and judged.untouched is True and not removed
        self._seen = _Seen(commit, listing, exact)

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
        workspace.head = repos.head_file(root)
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
    """Return the error that says that no workspace can be made at `folder`, and why.

    What it is made of may be elsewhere: an interpreter that the user may not read.
    """
    there = Path(os.fsdecode(error.filename or folder))
    apart = not there.is_relative_to(folder.parent) and not folder.is_relative_to(there)
    if there.is_absolute() and apart and not is_disk_full(error):
        hint = "make it readable for you, or name another one by the option or setting that has it"
        return CommandFailed(f"cannot use {there}: {error.strerror or error}", hint)
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
    named = is_run_id(owner) and folder.name == owner and number.name.isdigit()
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


def dependencies_root() -> Path:
    """Return the folder that holds the environments made for targets' dependencies."""
    return workspaces_root().parent / "environments"


def seeds_root() -> Path:
    """Return the folder that holds what build caches begin with."""
    return workspaces_root().parent / "seeds"
