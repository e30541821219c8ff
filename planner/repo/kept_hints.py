"""Keeps what a model is shown of a repository, so that it is found out once for a tree.

The text follows from the files, the words, the room and the code that reads them. A key of all of
these names a file in the person's cache folder. What cannot be kept or read back is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared.files import atomic_io
from shared.processes.pinned_tools import cache_folder

if TYPE_CHECKING:
    from planner.repo.planned_repo import BaseTree

LEAST_FILES: Final = 500  # to read fewer of them takes no longer than to look here
MOST_KEPT: Final = 64
_FLOORS: Final = Path(__file__).parents[2]
_READERS: Final = ("planner/repo", "planner/prompts", "shared/languages", "shared/projects")


def hints_of(
    base: BaseTree | None,
    paths: Collection[str],
    asked: tuple[str, int, tuple[str, ...]],
    make: Callable[[], str],
) -> str:
    """Return what `make` returns, or returned for the same files and the same `asked`.

    `asked` are the words, the room, and the paths that are shown elsewhere. A small tree, and one
    with changed files, is read anew. Never raises by itself.
    """
    if base is None or base.changed or len(paths) < LEAST_FILES:
        return make()
    try:
        folder = cache_folder() / "hints"
    except RuntimeError:  # nobody has a home folder here
        return make()
    file = folder / _key(base, paths, asked)
    kept = atomic_io.read_kept(file)
    if kept is not None:
        return kept.decode("utf-8", "surrogateescape")
    made = make()
    with contextlib.suppress(ValueError):
        atomic_io.keep(file, made.encode("utf-8", "surrogateescape"), MOST_KEPT)
    return made


def _key(base: BaseTree, paths: Collection[str], asked: object) -> str:
    digest = hashlib.sha256(repr((sys.version_info[:2], asked, *_readers())).encode())
    for path in paths:
        line = f"{path}\0{base.ids.get(path, '')}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _readers() -> Iterator[tuple[str, int, int]]:
    """Yield a mark of each file of the code that reads a repository."""
    for top in _READERS:
        for folder, inner, names in os.walk(_FLOORS / top):
            inner[:] = sorted(each for each in inner if each != "__pycache__")
            for name in sorted(names):
                facts = os.stat(f"{folder}/{name}")  # noqa: PTH116 (a path object for each costs 10 ms)
                yield name, facts.st_size, facts.st_mtime_ns
