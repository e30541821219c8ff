"""Prepares the folders and toolchains that commands find beside the tree."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.orders.task import RunOptions
from factory.preflight import Repo
from factory.proposal.scope import FileState
from factory.sandbox.lent_folders import Linked, linked_modules, package_links, target_of
from factory.workbench.dependencies import LocalWorkshop, Manifests, prepare
from factory.workbench.tree import Tree
from factory.workbench.workspace import Workspace, dependencies_root
from shared.errors import PreflightRefused
from shared.events.events import Emit, Noted, Warned
from shared.git import trees
from shared.languages.language_tools import Prepared
from shared.settings.declaration import PACKAGE_FOLDERS, PackageFolder
from shared.settings.setting_values import Links

_Files = Mapping[str, FileState]

_MOST_PLACES: Final = 500
_PATTERNS: Final = {name for each in PACKAGE_FOLDERS for name in (*each.locks, *each.manifests)}
_MANIFEST_NAMES: Final = re.compile(
    r"(?:.*/)?(?:" + "|".join(fnmatch.translate(each) for each in sorted(_PATTERNS)) + ")"
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Hold a folder of the checkout, and the state of its lock files when the run began.

    `described_by` is `None` for a folder that the user named: commands see such a folder whatever
    its lock file says.
    """

    linked: Linked
    described_by: tuple[PackageFolder, _Files] | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Hold the folders to show in one workspace, and warnings about the folders left out."""

    linked: tuple[Linked, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Linking:
    """Hold the folders that could be shown, as they were found at the start of a run."""

    candidates: tuple[_Candidate, ...] = ()
    warnings: tuple[str, ...] = ()

    def choose(self, workspace: Workspace) -> Chosen:
        """Return the folders to show in `workspace`, whose tree must be its baseline."""
        linked: list[Linked] = []
        warnings = list(self.warnings)
        for each in self.candidates:
            reason = _reason_against(each, workspace)
            if reason:
                warnings.append(f"{each.linked.path} is not shown to commands: {reason}")
            else:
                linked.append(each.linked)
        return Chosen(tuple(linked), tuple(warnings))


_NOT_IGNORED = "git does not ignore it"


def find_links(wanted: Links, repo: Repo) -> Linking:
    """Return the folders of the checkout that `wanted`, the setting `link`, asks for.

    Raises `PreflightRefused` for a folder that the setting names and that cannot be shown.
    """
    if wanted == "auto":
        return _installed_packages(repo)
    for path in wanted:
        if problem := _problem_with(path, repo.tree):
            raise _cannot_show(path, problem)
    for path in set(wanted).intersection(trees.tracked_files(repo.git) if wanted else ()):
        raise _cannot_show(path, _NOT_IGNORED)
    ignored = _ignored(repo, wanted) if wanted else frozenset()
    for path in wanted:
        if path not in ignored:
            raise _cannot_show(path, _NOT_IGNORED)
    return Linking(tuple(_Candidate(_linked(path, repo)) for path in wanted))


def _installed_packages(repo: Repo) -> Linking:
    found = _package_folders(repo)
    ignored = _ignored(repo, list(found)) if found else frozenset()
    candidates, warnings = [], []
    tree = Tree(repo.tree)
    for path, folder in found.items():
        if path not in ignored:
            continue  # the folder belongs to the project
        described = _described(tree, path, folder)
        if folder.needs_files and not described:
            continue
        if problem := _problem_with(path, repo.tree):
            warnings.append(f"{path} is not shown to commands: {problem}")
            continue
        warnings.extend(_leading_out(path, repo.tree))
        candidates.append(_Candidate(_linked(path, repo), (folder, described)))
    return Linking(tuple(candidates), tuple(warnings))


def _package_folders(repo: Repo) -> dict[str, PackageFolder]:
    """Return the package folders of the checkout by path: at the root, and beside manifests."""
    tracked = trees.tracked_files(repo.git)
    names = _MANIFEST_NAMES
    beside = {path.rpartition("/")[0] for path in tracked if names.fullmatch(path)}
    places = sorted(beside | {""}, key=lambda place: (place.count("/"), place))[:_MOST_PLACES]
    found, entries = {}, frozenset(tracked)
    for place in places:
        for folder in PACKAGE_FOLDERS:
            path = f"{place}/{folder.name}" if place else folder.name
            # A submodule is an entry itself, and git answers nothing about what is below one.
            if (repo.tree / path).is_dir() and path not in entries:
                found[path] = folder
    return found


def _leading_out(path: str, root: Path) -> Iterator[str]:
    """Yield warnings about packages that are links to places outside of the repo."""
    if not path.endswith("node_modules"):
        return  # the links of a virtual environment lead to its Python, which is shown
    for link in package_links(root / path):
        if not target_of(link).is_relative_to(root):
            name = link.relative_to(root)
            yield f"{name} is a link that leads out of the repo: commands cannot follow it"


def _cannot_show(path: str, problem: str) -> PreflightRefused:
    return PreflightRefused(
        f'the setting "link" names {path}, which cannot be shown to commands: {problem}',
        f'take {path} out of "link", or make it a folder of the repo that git ignores',
    )


def _linked(path: str, repo: Repo) -> Linked:
    source = (repo.tree / path).resolve()
    return linked_modules(path, source) if path.endswith("node_modules") else Linked(path, source)


def _problem_with(path: str, root: Path) -> str:
    """Return why the folder at `path` cannot be shown; "" if it can.

    No symbolic link is followed, because it could lead to anything on the machine.
    """
    here = root
    for part in path.split("/"):
        here = here / part
        try:
            mode = here.lstat().st_mode
        except FileNotFoundError:
            return "the checkout does not contain it"
        except OSError as error:
            return error.strerror or str(error)
        if stat.S_ISLNK(mode):
            return f"{here.relative_to(root)} is a symbolic link"
        if not stat.S_ISDIR(mode) and not (here == root / path and stat.S_ISREG(mode)):
            return f"{here.relative_to(root)} is not a folder"
    return ""


def _ignored(repo: Repo, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` that git ignores, or in which git ignores everything.

    No path may lead through a symbolic link.
    """
    # `uv venv` and Python 3.13 put a `.gitignore` with `*` inside the environment.
    folders = [path for path in paths if not (repo.tree / path).is_symlink()]
    inside = {f"{path}/pyvenv.cfg": path for path in folders}
    found = trees.ignored(repo.git, (*paths, *inside))
    return frozenset(inside.get(each, each) for each in found)


def _reason_against(candidate: _Candidate, workspace: Workspace) -> str:
    path = candidate.linked.path
    if workspace.tracks(path):
        return "the branch tracks files in it"
    if candidate.described_by is None:
        return ""
    folder, before = candidate.described_by
    now = _described(workspace.tree, path, folder)
    differing = sorted(each for each in {*before, *now} if before.get(each) != now.get(each))
    if not differing:
        return ""
    return (
        f"{', '.join(differing[:3])} of the branch differs from the checkout's, so other packages "
        f'may belong in {path} (name {path} in the setting "link" to show it anyway)'
    )


def _described(tree: Tree, path: str, folder: PackageFolder) -> _Files:
    """Return the states of the files that say what belongs in the package folder at `path`.

    Those files are the nearest lock files, beside the folder or above it, and beside it the
    manifests if the lock is above. Without any lock file they are the manifests beside the folder.
    """
    beside = path.rpartition("/")[0]
    manifests = _states(tree, beside, folder.manifests)
    above = beside
    while True:
        if locks := _states(tree, above, folder.locks):
            return locks if above == beside else {**locks, **manifests}
        if not above:
            return manifests
        above = above.rpartition("/")[0]


def _states(tree: Tree, place: str, patterns: Sequence[str]) -> _Files:
    here = tree.root / place
    if any(each.is_symlink() for each in (here, *here.parents) if each.is_relative_to(tree.root)):
        return {}
    try:
        names = sorted(entry.name for entry in here.iterdir())
    except OSError:
        return {}
    prefix = f"{place}/" if place else ""
    found = (f"{prefix}{name}" for name in _matching(names, patterns))
    return {path: tree.state_of(path) for path in found}


def _matching(names: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    for name in names:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield name


@dataclass(frozen=True, slots=True)
class Supplies:
    """Hold what commands find beside the tree, for the manifests with this `fingerprint`.

    `linked` has the folders of the checkout, and those that were prepared.
    """

    linked: tuple[Linked, ...]
    prepared: Prepared = field(default_factory=Prepared)
    fingerprint: str = ""

    @property
    def paths(self) -> frozenset[str]:
        """Return the paths of the workspace that belong to the sandbox."""
        caches = (each.cache for each in self.prepared.builds if each.cache.endswith("/"))
        return frozenset((*(each.path for each in self.linked), *(each[:-1] for each in caches)))


@dataclass(slots=True, eq=False)
class Supplier:
    """Find the supplies of trees for one run. Threads may share the supplier.

    Each warning is emitted once, and what manifests are prepared is said once.
    """

    options: RunOptions
    emit: Emit
    linking: Linking = field(default_factory=Linking)
    _warned: set[str] = field(default_factory=set)
    _prepared: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def supplies_of(self, workspace: Workspace, before: Supplies | None = None) -> Supplies:
        """Return the supplies of a workspace; `before` itself where its manifests are the same.

        Raises `InvalidInput` and `EnvironmentFault` as `prepare` does.
        """
        if not self.options.install_dependencies:
            return Supplies(self._links(workspace))
        files = Manifests.of(workspace.root, workspace.files)
        fingerprint = files.fingerprint()
        if before and before.fingerprint == fingerprint:
            return before
        linked = self._links(workspace)
        self._note(fingerprint)
        present = frozenset(each.path for each in linked)
        workshop = LocalWorkshop(dependencies_root(), self.options.python, present=present)
        prepared = prepare(files, workshop)
        free = (each for each in prepared.builds if not workspace.tracks(each.cache.rstrip("/")))
        prepared = replace(prepared, builds=tuple(free))
        self._warn(prepared.notes)
        beside = (each for each in _beside(prepared, present) if _is_free(each.path, workspace))
        return Supplies((*linked, *beside), prepared, fingerprint)

    def python_of(self, supplies: Supplies) -> Path:
        """Return the interpreter that commands find as `python`."""
        return supplies.prepared.python or self.options.python

    def _links(self, workspace: Workspace) -> tuple[Linked, ...]:
        chosen = self.linking.choose(workspace)
        self._warn(chosen.warnings)
        return chosen.linked

    def _note(self, fingerprint: str) -> None:
        with self._lock:
            is_new = fingerprint not in self._prepared
            self._prepared.add(fingerprint)
        if is_new:
            self.emit(Noted("preparing the target's dependencies"))

    def _warn(self, warnings: Iterable[str]) -> None:
        with self._lock:
            new = [each for each in dict.fromkeys(warnings) if each not in self._warned]
            self._warned.update(new)
        for warning in new:
            self.emit(Warned(warning))


def _is_free(path: str, workspace: Workspace) -> bool:
    """Return whether nothing of the tree would be hidden, of the branch or of an order."""
    there = os.path.lexists(workspace.root / path) and path not in workspace.linked
    return not there and not workspace.tracks(path)


def _beside(prepared: Prepared, present: frozenset[str]) -> Iterator[Linked]:
    """Yield the prepared folders that take no place of a folder of the checkout."""
    for path, folder in prepared.folders.items():
        if path not in present:
            yield linked_modules(path, folder)
