"""Reads and writes files below one folder without ever following a symbolic link.

Each folder of a path is opened relative to the folder before. So the folder that was checked is
the one that is used, even if something replaces it by a link in between.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.proposal.scope import FileKind, FileState
from shared.files.paths import fold_path
from shared.work_order.hashing import EMPTY_SHA256, sha256_bytes

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK, because opening a FIFO would otherwise wait for a writer that never comes.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_REFUSALS = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO)
_NEW_FILE_MODE = 0o666  # the kernel takes the umask off, as for any program


class NotReadable(Exception):
    """Report that a path holds no regular file that can be read without following a link.

    `kind` says what is there instead.
    """

    def __init__(self, kind: FileKind) -> None:
        super().__init__(str(kind))
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Tree:
    """Read and write the files below `root`, by relative normalised paths.

    `submodules` are folders that belong to repos of their own. `linked` are folders of the user's
    checkout that the sandbox shows. Nothing in these folders belongs to this tree.
    """

    root: Path
    submodules: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()

    def state_of(self, path: str) -> FileState:
        """Return the kind and the hash of what stands at `path` now."""
        try:
            return FileState(FileKind.FILE, sha256_bytes(self.read(path)))
        except NotReadable as refused:
            return FileState(refused.kind, EMPTY_SHA256)

    def read(self, path: str) -> bytes:
        """Return the bytes of a regular file. Raises `NotReadable` saying what is there instead."""
        with self._parent_of(path) as (folder, name), _refusals_reported():
            kind = _kind_at(folder, name)
            if kind is not FileKind.FILE:
                raise NotReadable(kind)
            with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # swapped since
                    raise NotReadable(FileKind.OTHER)
                return file.read()

    def write(self, path: str, data: bytes) -> None:
        """Put `data` at `path`, whole or not at all. A file that is replaced keeps its mode.

        Raises `OSError` if the disk refuses, and `NotReadable` if no file can stand at `path`. The
        data is not synced, because the tree is thrown away after a crash.
        """
        with self._parent_of(path, create=True) as (folder, name):
            mode = _mode_to_keep(folder, name)
            temporary = f".llmch-{os.getpid()}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, _NEW_FILE_MODE, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    if mode is not None:
                        os.fchmod(file.fileno(), mode)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def remove(self, path: str) -> None:
        """Remove the file or link at `path`, and the folders that hold nothing any more.

        Nothing happens where nothing stands there. Raises `NotReadable` where something else does,
        and `OSError` if the disk refuses.
        """
        try:
            with self._parent_of(path) as (folder, name), _refusals_reported():
                kind = _kind_at(folder, name)
                if kind not in (FileKind.FILE, FileKind.LINK):
                    raise NotReadable(kind)
                os.unlink(name, dir_fd=folder)
        except NotReadable as refused:
            if refused.kind in (FileKind.ABSENT, FileKind.BEHIND_FILE):
                return
            raise
        above = path.rpartition("/")[0]
        while above:
            try:
                with self._parent_of(above) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:  # it holds something
                return
            above = above.rpartition("/")[0]

    def kind_of(self, path: str) -> FileKind:
        """Return what stands at `path`, without reading it."""
        try:
            with self._parent_of(path) as (folder, name), _refusals_reported():
                return _kind_at(folder, name)
        except NotReadable as refused:
            return refused.kind

    def exists(self, path: str) -> bool:
        """Return whether a regular file stands at `path`."""
        return self.kind_of(path) is FileKind.FILE

    def lookalike_of(self, path: str) -> str:
        """Return an existing path that some file systems would take for `path`, else "".

        Such a path differs from `path` only by case or Unicode form. If `path` itself exists, this
        file system keeps the names apart, and "" is returned.
        """
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            try:
                with self._parent_of(part) as (folder, name), _refusals_reported():
                    if _kind_at(folder, name) is FileKind.ABSENT:
                        alike = _lookalike_in(folder, name)
                        return "/".join((*parts[: depth - 1], alike)) if alike else ""
            except NotReadable:
                return ""
        return ""

    @contextlib.contextmanager
    def _parent_of(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        *folders, name = path.split("/")
        for depth in range(1, len(folders) + 1):
            above = "/".join(folders[:depth])
            if above in self.submodules:
                raise NotReadable(FileKind.IN_SUBMODULE)
            if above in self.linked:
                raise NotReadable(FileKind.IN_LINKED)
        current = os.open(self.root, _FOLDER)
        try:
            for folder in folders:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=current)
                below = _open_folder(current, folder)
                os.close(current)
                current = below
            yield current, name
        finally:
            os.close(current)


def _open_folder(parent: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        raise NotReadable(FileKind.ABSENT) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            link = _kind_at(parent, name) is FileKind.LINK
            raise NotReadable(FileKind.BEHIND_LINK if link else FileKind.BEHIND_FILE) from None
        if error.errno in _REFUSALS:
            raise NotReadable(FileKind.UNREADABLE) from None
        raise


@contextlib.contextmanager
def _refusals_reported() -> Iterator[None]:
    """Raise `NotReadable` for a name too long for the disk, or a folder that a command locked."""
    try:
        yield
    except OSError as error:
        if error.errno in _REFUSALS:
            raise NotReadable(FileKind.UNREADABLE) from None
        raise


def _kind_at(folder: int, name: str) -> FileKind:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return FileKind.ABSENT
    if stat.S_ISREG(mode):
        return FileKind.FILE
    if stat.S_ISLNK(mode):
        return FileKind.LINK
    return FileKind.FOLDER if stat.S_ISDIR(mode) else FileKind.OTHER


def _lookalike_in(folder: int, name: str) -> str:
    wanted = fold_path(name)
    return next((each for each in sorted(os.listdir(folder)) if fold_path(each) == wanted), "")


def _mode_to_keep(folder: int, name: str) -> int | None:
    kind = _kind_at(folder, name)
    if kind is FileKind.ABSENT:
        return None
    if kind is not FileKind.FILE:
        raise NotReadable(kind)
    return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
