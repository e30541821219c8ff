"""The run's own working tree: opened outside the repo, reset between attempts, committed from.

The user's checkout is never the workbench: nothing here writes to it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from factory.repo.path_names import printable
from factory.workbench.side_by_side import side_by_side
from factory.workbench.sweep import Listing, discard, find_leftovers
from factory.workbench.tree import Tree
from shared.errors import CommandFailed
from shared.git.client import CommitFacts, Git

_OWN_CONFIG = (
    # The whole tree is judged, and links are links, whatever the user's checkout makes of them.
    ("core.sparseCheckout", "false"),
    ("core.symlinks", "true"),
    # A change that hides behind size and time is seen all the same.
    ("core.checkStat", "default"),
    ("core.trustctime", "true"),
    ("core.ignoreStat", "false"),
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What belongs into the tree of a commit; `exact` where the tree was seen to be just that."""

    commit: str
    listing: Listing
    exact: bool = False


@dataclass(slots=True)
class Workspace:
    """A detached working tree and the commit that an attempt starts from.

    `private` is a folder beside the tree for the commands' temporary files; `linked` are paths
    where commands find folders of the user's checkout.
    """

    repo: Git
    root: Path
    private: Path
    baseline: str
    submodules: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()
    _seen: _Seen | None = field(default=None, init=False)

    @property
    def git(self) -> Git:
        return self.repo.at(self.root).with_config(_OWN_CONFIG)

    @property
    def tree(self) -> Tree:
        return Tree(self.root, self.submodules, self.linked)

    def link(self, paths: frozenset[str]) -> None:
        """Leave these paths to the sandbox; the next reset removes what it had at others."""
        self.linked = paths
        self._seen = None

    def tracks(self, path: str) -> bool:
        """Return whether the baseline has a file at `path` or below it."""
        listing = self._look_up(self.baseline).listing
        return any(f"{each}/".startswith(f"{path}/") for each in listing.files)

    def reset(self) -> None:
        """Make the tree exactly the baseline again, whatever commands left in it."""
        seen = self._look_up(self.baseline)
        # What was seen holds until commands run again, and they run when this has returned.
        self._seen = replace(seen, exact=False)
        if seen.exact:
            return
        with self._refusals_told():
            discard(find_leftovers(self.root, seen.listing), beside=self.root.parent)
        self.git.reset(self.baseline)

    def restore(self) -> None:
        """Do what `reset` does after commands that most likely left nothing: look, then do less."""
        seen = self._look_up(self.baseline)
        with self._refusals_told():
            littered, unchanged = side_by_side(
                lambda: bool(find_leftovers(self.root, seen.listing)),
                lambda: self.git.is_exactly(self.baseline),
            )
        self._seen = replace(seen, exact=unchanged and not littered)
        self.reset()

    def commit(
        self, tree: str, paths: Sequence[str], facts: CommitFacts
    ) -> tuple[str, tuple[str, ...]]:
        """Return the id of a commit of `tree` on the baseline, and what here is other than it.

        `tree` is the baseline with `paths` written; of other files those that git ignores are not
        told. Names that are no text are given with escapes. No ref moves but HEAD of this tree:
        the commit lands, or is forgotten, later. The commands must be over: where nothing at all
        differs, ignored files included, a reset to that commit has nothing left to do.
        """
        listing = self._look_up(self.baseline).listing.with_files(paths)

        def commit_and_look() -> tuple[str, bool]:
            commit = self.git.write_commit(tree, self.baseline, facts)
            self.git.detach_head(commit)
            return commit, bool(find_leftovers(self.root, listing))

        with self._refusals_told():
            # Both look at every file, git at what is in it and we at what else there is.
            (commit, littered), unchanged = side_by_side(
                commit_and_look, lambda: self.git.is_exactly(tree)
            )
        exact = unchanged and not littered
        self._seen = _Seen(commit, listing, exact)
        return commit, () if exact else self._drift(paths)

    def _drift(self, paths: Sequence[str]) -> tuple[str, ...]:
        changes = self.git.changes(own_tree=True)
        differing = {*changes.changed, *changes.untracked}.difference(paths)
        linked = tuple(f"{each}/" for each in self.linked)
        others = (each for each in differing if not f"{each}/".startswith(linked))
        return tuple(sorted(map(printable, others)))

    def _look_up(self, commit: str) -> _Seen:
        if self._seen is None or self._seen.commit != commit:
            self._seen = _Seen(commit, self._listing_of(commit))
        return self._seen

    def _listing_of(self, commit: str) -> Listing:
        return Listing.of(self.git.files_of(commit), self.submodules, self.linked)

    @contextlib.contextmanager
    def _refusals_told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CommandFailed(
                f"cannot clear the workspace {self.root}: {error.strerror or error}",
                "see what holds it; the next run makes a new one",
            ) from error


def open_workspace(repo: Git, root: Path, commit: str) -> Workspace:
    """Check `commit` out into a new tree at `root`, whose parent folder is the run's own.

    Raises `CommandFailed` where disk or git refuse, and leaves nothing behind.
    """
    private = root.with_name(f"{root.name}.private")  # never the name of the tree itself
    try:
        private.mkdir(mode=0o700, parents=True)
        root.parent.chmod(0o700)
    except OSError as error:
        raise workspace_refused(root.parent, error) from error
    workspace = Workspace(repo, root, private, commit)
    try:
        workspace.git.at(repo.folder).open_worktree(root, commit)
        workspace.submodules = frozenset(repo.submodules_of(commit))
    except BaseException:
        close_workspace(repo, root)
        raise
    return workspace


def close_workspace(repo: Git, root: Path) -> None:
    """Remove the tree at `root` with all that lies beside it; fine where it is gone already.

    Commits made in it stay in the repo's object store.
    """
    # What the system keeps from us must not hide the verdict: the next start tries again.
    with contextlib.suppress(OSError, RecursionError):
        try:
            discard(root.parent.iterdir(), beside=root.parent)
        except OSError:  # a disk may be too full for one more folder
            shutil.rmtree(root.parent)
        else:
            root.parent.rmdir()
    repo.forget_worktree(root)


def workspace_refused(folder: Path, error: OSError) -> CommandFailed:
    """Return the error that says where no workspace can be made, and why."""
    return CommandFailed(
        f"cannot make a workspace at {folder}: {error.strerror or error}",
        "free space there, or set LLMCH_WORKSPACES to another folder",
    )


def workspaces_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds all workspaces: `LLMCH_WORKSPACES`, else the user's cache."""
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
