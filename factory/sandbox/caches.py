"""Gives commands a private build cache that begins with known content in each attempt.

A cache of Go is addressed by what went into each entry, but nothing keeps a command from writing
a false entry, which a later `go test` would believe. So an attempt begins with the seed alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from pathlib import Path
from typing import TypeAlias

from factory.sandbox.reclaim import put_aside, regain

_Facts: TypeAlias = tuple[int, int, int, int]
# Go searches the whole cache for old entries where this file does not say that it did so lately.
_TRIMMED = "trim.txt"


class SeededCache:
    """Hold a writable cache folder. `restore` makes it equal to the seed, by copying what differs.

    Files are never hard links to the seed, because commands may write to them.
    """

    def __init__(self, folder: Path, seed: Path | None) -> None:
        self._folder = folder
        self._seed = seed
        self._files: dict[str, str] | None = None
        self._copied: dict[str, _Facts] = {}

    def restore(self, aside: Path) -> None:
        """Remove what commands wrote, and put back what they changed.

        No command may be running. Raises OSError where the file system refuses.
        """
        if self._folder.is_symlink() or not self._folder.is_dir():
            self._folder.unlink(missing_ok=True)
            self._folder.mkdir(mode=0o700)
        if self._files is None:  # a later run may remove the seed; what was copied of it stays
            self._files = _files_of(self._seed) if self._seed else {}
        expected = self._files
        folders = {os.path.dirname(name) for name in expected}  # noqa: PTH120  # pathlib is slow
        there = self._keep_known("", folders, aside)
        for name, source in expected.items():
            if name not in there:
                self._copy(name, source)
        if expected:
            (self._folder / _TRIMMED).write_text(str(int(time.time())))

    def _keep_known(self, inside: str, folders: set[str], aside: Path) -> set[str]:
        """Remove all but unchanged copies, and return the names of those; no link is followed."""
        here = self._folder / inside
        regain(here)
        kept = set()
        for entry in tuple(os.scandir(here)):
            name = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_dir(follow_symlinks=False):
                if name in folders:
                    kept |= self._keep_known(name, folders, aside)
                else:
                    put_aside(Path(entry.path), aside)
            elif name in self._copied and _facts_of(entry.path) == self._copied[name]:
                kept.add(name)
            else:
                Path(entry.path).unlink()
        return kept

    def _copy(self, name: str, source: str) -> None:
        place = self._folder / name
        place.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(source, place)
            self._copied[name] = _facts_of(place)


def _files_of(seed: Path) -> dict[str, str]:
    """Return the files of a seed by their names in it, which have at most one folder."""
    found: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(seed):
            if entry.is_dir(follow_symlinks=False):
                found |= {f"{entry.name}/{each.name}": each.path for each in os.scandir(entry.path)}
            elif entry.name != _TRIMMED:
                found[entry.name] = entry.path
    return found


def _facts_of(path: str | Path) -> _Facts:
    """Return facts that differ once the file has been written to; the last cannot be set back."""
    facts = os.lstat(path)
    regular = stat.S_ISREG(facts.st_mode)
    return (facts.st_ino if regular else -1, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
