"""Keeps how commands ended, so that only what has changed is run again.

An answer is kept with the files that the command read: the kernel notes when a file is first read
after it was changed (relatime). It holds for every tree that has the same paths, and the same
content at those that were read. Where the file system notes nothing, all files count as read.

The answers are in the user's cache folder, and not in the repo's git folder, which may have come
from a stranger. What is torn or of another form counts as nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from factory.drift.requirement_states import CommandAtRev, Drift
from factory.workbench.leftovers import ReadWatch
from factory.workbench.workspace import workspaces_root
from shared.files import atomic_io
from shared.git.client import TreeEntry
from shared.projects.build_tools import LOCK_FILES

_VERSION: Final = 1
_MOST_RUNS: Final = 4_000
_MOST_TREES: Final = 12
_MOST_REPOS: Final = 50
_SAME_RUN: Final = 4  # of one command: branches that are looked at in turn
_REGULAR: Final = ("100644", "100755")
# What commands find beside the tree follows from these, also where no command reads them.
_TELLING: Final = (".toml", ".lock", ".cfg", ".mod", ".sum", ".json", ".ini", ".yaml", ".yml")

Entries = Mapping[str, TreeEntry]
"""The files of a commit: mode and id, by path."""


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeptRun(_Kept):
    """Hold how a command ended on trees that have these paths, and this content at those read."""

    paths: str
    read: dict[str, str]
    found: CommandAtRev


class KeptTree(_Kept):
    """Hold the answer about a whole tree, with what it took from outside the tree.

    `quick` and `outside` can be looked up without opening anything; `environment` is certain.
    """

    quick: str
    outside: tuple[tuple[str, int], ...]
    environment: str
    drift: Drift


class _AnswersFile(_Kept):
    version: Annotated[int, Field(ge=_VERSION, le=_VERSION)] = _VERSION
    runs: dict[str, tuple[KeptRun, ...]] = {}
    trees: dict[str, KeptTree] = {}


_DOCUMENT: Final = TypeAdapter(_AnswersFile)


@dataclass
class KeptAnswers:
    """Keep the answers about one repo. Threads may share it; `save` writes them."""

    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _runs: dict[str, tuple[KeptRun, ...]] = field(default_factory=dict)
    _trees: dict[str, KeptTree] = field(default_factory=dict)

    @classmethod
    def of(cls, common_dir: Path) -> KeptAnswers:
        """Return the answers about the repo with this git folder."""
        name = hashlib.sha256(os.fsencode(common_dir.resolve())).hexdigest()[:32]
        return cls(workspaces_root().parent / "drift" / f"{name}.json")

    @cached_property
    def _read(self) -> _AnswersFile:
        data = atomic_io.read_kept(self.path)
        try:
            return _DOCUMENT.validate_json(data) if data else _AnswersFile()
        except (ValueError, RecursionError):
            return _AnswersFile()

    def tree(self, key: str) -> KeptTree | None:
        """Return the answer that is kept about a tree."""
        return self._trees.get(key) or self._read.trees.get(key)

    def keep_tree(self, key: str, answer: KeptTree) -> None:
        self._trees[key] = answer

    def run(self, key: str, entries: Entries, paths: str) -> CommandAtRev | None:
        """Return how a command ended on a tree that was the same for it."""
        with self._lock:
            kept = (*self._runs.get(key, ()), *self._read.runs.get(key, ()))
        for each in kept:
            if each.paths == paths and all(
                _mark(entries.get(path)) == mark for path, mark in each.read.items()
            ):
                return each.found
        return None

    def keep_run(self, key: str, run: KeptRun) -> None:
        with self._lock:
            self._runs[key] = (run, *self._runs.get(key, ()))

    def save(self) -> None:
        """Write all answers, the newest last; a disk that refuses is ignored."""
        runs = {name: each for name, each in self._read.runs.items() if name not in self._runs}
        for name, new in self._runs.items():
            runs[name] = (*new, *self._read.runs.get(name, ()))[:_SAME_RUN]
        trees = {name: each for name, each in self._read.trees.items() if name not in self._trees}
        document = _AnswersFile(
            runs=dict(list(runs.items())[-_MOST_RUNS:]),
            trees=dict([*trees.items(), *self._trees.items()][-_MOST_TREES:]),
        )
        atomic_io.keep(
            self.path, document.model_dump_json().encode("utf-8", "replace"), _MOST_REPOS
        )


def key_of(*parts: Any) -> str:
    """Return the hash of what an answer depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def paths_key(entries: Entries) -> str:
    """Return the hash of all paths of a tree: what is added or removed may be found by listing."""
    return key_of(sorted(os.fsencode(each).hex() for each in entries))


def kept_run(
    entries: Entries, paths: str, read: Collection[str] | None, found: CommandAtRev
) -> KeptRun:
    """Return an answer to keep; `read` are the files that the command read, `None` for all.

    Links, submodules and manifests count as read in any case.
    """
    marks = {
        path: _mark(entry)
        for path, entry in entries.items()
        if read is None or path in read or entry.mode not in _REGULAR or _is_telling(path)
    }
    return KeptRun(paths=paths, read=marks, found=found)


def _is_telling(path: str) -> bool:
    name = path.rpartition("/")[2]
    if "/" not in path and (name.endswith(_TELLING) or name.startswith("requirements")):
        return True
    return name in LOCK_FILES


def _mark(entry: TreeEntry | None) -> str:
    return f"{entry.mode} {entry.object_id}" if entry else ""


def watch_reads(
    root: Path, paths: Collection[str], pointer: Path
) -> Callable[[], frozenset[str] | None]:
    """Begin to note which files below a folder are read; the result returns them and ends that.

    It returns `None` where anything may have been read: where the system does not note it, or
    where the command asked git, which reads the `pointer` from the tree to its git folder. The
    tree's HEAD would not tell: git reads it too where another tree is made or removed.
    """
    if not _notes_reads(root.parent / "probe") or (asked := ReadWatch.of(pointer)) is None:
        return lambda: None
    begun = {path: _begin(root / path) for path in paths}

    def read() -> frozenset[str] | None:
        asked_git = asked.heard()
        asked.close()
        if asked_git:
            return None
        return frozenset(path for path, before in begun.items() if _times(root / path) != before)

    return read


def _begin(path: Path) -> tuple[int, int]:
    """Have the next read of a file noted, and return the times that stand there until then."""
    try:
        facts = path.lstat()
        if stat.S_ISREG(facts.st_mode) and facts.st_atime_ns:
            os.utime(path, ns=(0, facts.st_mtime_ns), follow_symlinks=False)
    except OSError:
        return -1, -1
    return _times(path)


def _times(path: Path) -> tuple[int, int]:
    """Return when a file was read and changed: who sets the first back moves the second."""
    try:
        facts = path.lstat()
    except OSError:
        return -2, -2  # a file that is gone has been touched
    return facts.st_atime_ns, facts.st_ctime_ns


def _notes_reads(file: Path) -> bool:
    """Return whether reading a file moves the time that is looked at; one may be made for it."""
    try:
        if not file.exists():
            file.write_bytes(b"x")
        os.utime(file, ns=(0, file.stat().st_mtime_ns))
        file.read_bytes()
        return file.stat().st_atime_ns != 0
    except OSError:
        return False
