"""Finds what is in a folder and does not belong there, and removes it.

`git clean` leaves FIFOs, sockets, repos inside tracked folders and the contents of submodules
behind. It gives up on folders without permissions, and on folders nested too deep for a path. Any
such leftover could change how a later command, or a later attempt, is judged.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from factory.preflight import printable

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

    def replaces(self, path: str) -> bool:
        """Return whether what was found at `path` is in the place of something that belongs."""
        return path in self.files or path in self.folders


@dataclass(frozen=True, slots=True)
class Undone:
    """Name what commands did to a tree and what was undone, as sorted relative paths.

    `changed` are files of the tree that were changed or removed. `made` are files beside them, and
    `hidden` are such files that git would not list, because they came with an ignore file of their
    own.
    """

    changed: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.made or self.hidden)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the files that a person is shown, as they can be printed."""
        return tuple(map(printable, sorted({*self.changed, *self.made})))

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(sorted({*self.changed, *self.made, *self.hidden}))


NOTHING_UNDONE: Final = Undone()


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


def files_below(root: Path, path: Path) -> Iterator[str]:
    """Yield the relative paths of the files at or below `path`, which is below `root`.

    Anything that is not a folder counts as a file, and so does a folder that is nested too deep to
    be read.
    """
    if path.is_symlink() or not path.is_dir():
        yield str(path.relative_to(root))
        return
    waiting = [str(path)]
    while waiting:
        here = waiting.pop()
        try:
            entries = _entries(here)
        except OSError:
            yield os.path.relpath(here, root)
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                yield os.path.relpath(entry.path, root)


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
