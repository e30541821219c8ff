"""Decides which folders of the user's checkout the commands of a run find in their workspace."""

from __future__ import annotations

import fnmatch
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from factory.proposal.scope import FileState
from factory.repo.preflight import Repo
from factory.sandbox.linked import Linked
from factory.workbench.tree import Tree
from factory.workbench.workspace import Workspace
from shared.errors import PreflightRefused
from shared.git import index
from shared.settings.package_folders import PACKAGE_FOLDERS, PackageFolder
from shared.settings.values.paths import Links

_Files = Mapping[str, FileState]


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


def find_links(wanted: Links, repo: Repo) -> Linking:
    """Return the folders of the checkout that `wanted`, the setting `link`, asks for.

    Raises `PreflightRefused` for a folder that the setting names and that cannot be shown.
    """
    if wanted == "auto":
        return _installed_packages(repo)
    for path in wanted:
        if problem := _problem_with(path, repo.tree):
            raise _cannot_show(path, problem)
    ignored = _ignored(repo, wanted) if wanted else frozenset()
    for path in wanted:
        if path not in ignored:
            raise _cannot_show(path, "git does not ignore it")
    return Linking(tuple(_Candidate(_linked(path, repo)) for path in wanted))


def _installed_packages(repo: Repo) -> Linking:
    found = [each for each in PACKAGE_FOLDERS if (repo.tree / each.name).is_dir()]
    ignored = _ignored(repo, [each.name for each in found]) if found else frozenset()
    candidates, warnings = [], []
    tree = Tree(repo.tree)
    for each in found:
        if each.name not in ignored:
            continue  # the folder belongs to the project
        if problem := _problem_with(each.name, repo.tree):
            warnings.append(f"{each.name} is not shown to commands: {problem}")
            continue
        described_by = each, _described(tree, each)
        candidates.append(_Candidate(_linked(each.name, repo), described_by))
    return Linking(tuple(candidates), tuple(warnings))


def _cannot_show(path: str, problem: str) -> PreflightRefused:
    return PreflightRefused(
        f'the setting "link" names {path}, which cannot be shown to commands: {problem}',
        f'take {path} out of "link", or make it a folder of the repo that git ignores',
    )


def _linked(path: str, repo: Repo) -> Linked:
    return Linked(path, (repo.tree / path).resolve())


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
        if not stat.S_ISDIR(mode):
            return f"{here.relative_to(root)} is not a folder"
    return ""


def _ignored(repo: Repo, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` that git ignores, or in which git ignores everything.

    No path may lead through a symbolic link.
    """
    # `uv venv` and Python 3.13 put a `.gitignore` with `*` inside the environment.
    folders = [path for path in paths if not (repo.tree / path).is_symlink()]
    inside = {f"{path}/pyvenv.cfg": path for path in folders}
    found = index.ignored(repo.git, (*paths, *inside))
    return frozenset(inside.get(each, each) for each in found)


def _reason_against(candidate: _Candidate, workspace: Workspace) -> str:
    path = candidate.linked.path
    if workspace.tracks(path):
        return "the branch tracks files in it"
    if candidate.described_by is None:
        return ""
    folder, before = candidate.described_by
    now = _described(workspace.tree, folder)
    differing = sorted(each for each in {*before, *now} if before.get(each) != now.get(each))
    if not differing:
        return ""
    return (
        f"{', '.join(differing[:3])} of the branch differs from the checkout's, so other packages "
        f'may belong in {path} (name {path} in the setting "link" to show it anyway)'
    )


def _described(tree: Tree, folder: PackageFolder) -> _Files:
    """Return the states of the files that say what belongs in `folder`, which is at the root.

    Those files are its lock files; without any lock file, its manifests.
    """
    names = sorted(entry.name for entry in tree.root.iterdir())
    for patterns in (folder.locks, folder.manifests):
        found = {name: tree.state_of(name) for name in _matching(names, patterns)}
        if found:
            return found
    return {}


def _matching(names: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    for name in names:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield name
