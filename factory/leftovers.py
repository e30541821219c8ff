"""Removes what commands left behind: all of it, whatever it is.

`git clean` leaves FIFOs, sockets, repos inside tracked folders and whatever lies in a submodule,
and gives up on folders without permissions or nested too deep for a path. A later attempt would be
judged on any of that.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

_ACCESS = os.R_OK | os.W_OK | os.X_OK


def sweep(root: Path, tracked: Collection[str], beside: Path) -> None:
    """Remove everything below `root` that is not among `tracked`, its own `.git` excepted.

    Of a submodule nothing is tracked, and a folder in a tracked file's place goes too. `beside`
    is a folder outside of `root` on the same file system. Raises `OSError`.
    """
    folders = {path[:end] for path in tracked for end in _slashes(path)}
    doomed: list[str] = []
    waiting = [""]
    while waiting:
        here = waiting.pop()
        for entry in _entries(os.path.join(root, here)):  # noqa: PTH118  # called per folder
            path = here + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and path in folders:
                waiting.append(path + "/")
            elif (is_folder or path not in tracked) and path != ".git":
                doomed.append(entry.path)
    if doomed:
        discard(map(Path, doomed), beside)


def discard(paths: Iterable[Path], beside: Path) -> None:
    """Remove files and folders by way of a new folder in `beside`. Raises `OSError`.

    Folders are moved there one by one as they are emptied: so no path grows long, however deep
    they were nested.
    """
    paths = tuple(paths)  # before the new folder is among them
    trash = Path(tempfile.mkdtemp(prefix="trash-", dir=beside))
    names = map(str, itertools.count())
    waiting: list[Path] = []

    def remove(path: Path, is_folder: bool) -> None:
        if is_folder:
            path.chmod(0o700)  # moving a folder takes the right to write to it
            waiting.append(path.rename(trash / next(names)))
        else:
            path.unlink()

    for path in paths:
        remove(path, path.is_dir() and not path.is_symlink())
    while waiting:
        folder = waiting.pop()
        for entry in _entries(str(folder)):
            remove(Path(entry.path), entry.is_dir(follow_symlinks=False))
        folder.rmdir()
    trash.rmdir()


def _entries(folder: str) -> list[os.DirEntry[str]]:
    if not os.access(folder, _ACCESS, effective_ids=True):
        os.chmod(folder, 0o700)  # noqa: PTH101
    with os.scandir(folder) as entries:
        return list(entries)


def _slashes(path: str) -> Iterable[int]:
    return (position for position, character in enumerate(path) if character == "/")
