"""Sees what commands left in a tree, and takes it away.

`git clean` leaves FIFOs, sockets, repos inside tracked folders and the contents of submodules
behind. It gives up on folders without permissions, and on folders nested too deep for a path. Any
such leftover could change how a later command, or a later attempt, is judged.

To look at every file after every command would cost more than most commands. inotify tells of each
file that is written, made, moved, linked or removed in a watched folder. Only its silence is
believed: whatever is heard leads to a look at the files themselves.

A file can be reached past its folder by a hard link in a folder that nobody watches. So silence
counts only where every folder that commands can write to on the same mount is watched: inside
bubblewrap, whose other mounts a link cannot cross, and as long as nothing is in the tree that does
not belong there. It counts without any sandbox too, where a look would hold nobody up.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import struct
import tempfile
from abc import ABC, abstractmethod
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


_CREATE, _DELETE = 0x100, 0x200
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED = 0x40 | 0x80
_SELF = 0x400 | 0x800  # the folder itself was removed or moved
_HEARD: Final = _CREATE | _DELETE | _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED | _SELF
_READ: Final = 0x1 | _SELF
_ONLY_FOLDER, _NO_FOLLOW = 0x01000000, 0x02000000
_LOST: Final = 0x2000 | 0x4000 | 0x8000  # unmounted, queue overflow, watch is gone
_IS_FOLDER = 0x40000000
_EVENT = struct.Struct("iIII")
_BUFFER = 64 * 1024  # bytes


class _Listener(ABC):
    """Hear what happens to files and folders, by whatever mount. `close` frees the descriptor."""

    def __init__(self, path: Path) -> None:
        """Begin to watch `path`. Raises `OSError` if the system has no further watch to give.

        A file system that reports nothing must not pass for a quiet one, so `path` is touched.
        """
        self._path = path
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._checked(self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        try:
            self._touch()
            if not self._heard():
                raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, path: Path) -> Self | None:
        """Return a watch of `path`; `None` if the system has none to give."""
        try:
            return cls(path)
        except (OSError, AttributeError):
            return None

    def close(self) -> None:
        os.close(self._fd)

    @abstractmethod
    def _touch(self) -> None:
        """Listen to `_path`, and do to it what is to be heard."""

    def _listen(self, path: Path, mask: int) -> None:
        added = self._libc.inotify_add_watch(
            self._fd, os.fsencode(path), ctypes.c_uint32(mask | _NO_FOLLOW)
        )
        self._checked(added)

    def _heard(self) -> int:
        """Return the bits of all that was heard since the last call; 0 for nothing."""
        found = 0
        while True:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                _, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                found |= mask

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


class ReadWatch(_Listener):
    """Watch whether one file is read.

    The time of reading would not tell: on a mount that is read-only, the kernel leaves it.
    """

    def _touch(self) -> None:
        self._listen(self._path, _READ)
        self._path.read_bytes()

    def heard(self) -> bool:
        """Return whether the file was read, or is another one, since the watch began."""
        return bool(self._heard())


class TreeWatch(_Listener):
    """Watch the folders of one tree."""

    def __init__(self, root: Path) -> None:
        self._watched: set[str] = set()
        self._was_touched = False
        super().__init__(root)

    def _touch(self) -> None:
        self._add("")
        os.utime(self._path)

    def begin(self, folders: Iterable[str]) -> bool:
        """Take the tree as it is now for its quiet state; return whether all of it is watched.

        `folders` are the relative paths of its folders. No command may be running.
        """
        self._look()
        try:
            for folder in ("", *folders):
                if folder not in self._watched:
                    with contextlib.suppress(FileNotFoundError):  # the folder above is watched
                        self._add(folder)
        except OSError:
            return False
        self._was_touched = False
        return True

    def is_silent(self) -> bool:
        """Return whether nothing was touched since `begin`."""
        self._was_touched = self._look() or self._was_touched
        return not self._was_touched

    def _add(self, folder: str) -> None:
        self._listen(self._path / folder, _HEARD | _ONLY_FOLDER)
        self._watched.add(folder)

    def _look(self) -> bool:
        """Return whether anything was heard since the last call."""
        heard = self._heard()
        if heard & (_IS_FOLDER | _SELF | _LOST):
            self._watched.clear()  # another folder may be in the place of a watched one
        return bool(heard)
