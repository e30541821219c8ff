"""Finds files of a person that stand where orders write. It only reads, and follows no link."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shared.files.paths import fold_path
from shared.git import index, trees
from shared.git.client import Git

_ASKED_AT_ONCE = 500  # paths on one command line of git


def untracked_in_the_way(git: Git, paths: Iterable[str]) -> tuple[str, ...]:
    """Return what git does not track in its working tree and a file at one of `paths` would hit.

    That is a file at such a path or where one of its folders would be, and a folder where the file
    would be, which is returned with a slash at its end. Ignored files count too: git overwrites
    them without a question when a person switches branches. Names are compared in any letter case
    and Unicode form, as some file systems do. The result is sorted.
    """
    disk = _Disk(git.folder)
    standing = sorted({each for path in paths for each in disk.standing_at(path)})
    tracked = _tracked(git, standing)
    own = [each for each in standing if each.rstrip("/") not in tracked]
    if not own:
        return ()
    inside = tuple(f"{each}/" for each in trees.submodules_of(git, "HEAD"))
    return tuple(each for each in own if not each.startswith(inside))


def _tracked(git: Git, paths: list[str]) -> set[str]:
    """Return those of `paths` that git tracks, or that are folders with tracked files."""
    names = [each.rstrip("/") for each in paths]
    found: set[str] = set()
    for start in range(0, len(names), _ASKED_AT_ONCE):
        for each in index.staged_entries(git, names[start : start + _ASKED_AT_ONCE]):
            found.update(_with_folders(each))
    return found


def _with_folders(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class _Disk:
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
