"""Hears from the kernel whether anything in a working tree was touched.

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
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

_CREATE, _DELETE = 0x100, 0x200
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED = 0x40 | 0x80
_SELF = 0x400 | 0x800  # the folder itself was removed or moved
_HEARD: Final = _CREATE | _DELETE | _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED | _SELF
_ONLY_FOLDER, _NO_FOLLOW = 0x01000000, 0x02000000
_LOST: Final = 0x2000 | 0x4000 | 0x8000  # unmounted, queue overflow, watch is gone
_IS_FOLDER = 0x40000000
_EVENT = struct.Struct("iIII")
_BUFFER = 64 * 1024  # bytes


class TreeWatch:
    """Watch the folders of one tree. `close` frees the descriptor."""

    def __init__(self, root: Path) -> None:
        """Begin to watch `root`. Raises `OSError` if the system has no further watch to give."""
        self._root = root
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watched: set[str] = set()
        self._heard = False
        self._fd = self._checked(self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        try:
            self._add("")
            os.utime(root)  # a file system that reports nothing must not pass for a quiet one
            if not self._read():
                raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, root: Path) -> Self | None:
        """Return a watch of `root`; `None` if the system has none to give."""
        try:
            return cls(root)
        except (OSError, AttributeError):
            return None

    def begin(self, folders: Iterable[str]) -> bool:
        """Take the tree as it is now for its quiet state; return whether all of it is watched.

        `folders` are the relative paths of its folders. No command may be running.
        """
        self._read()
        try:
            for folder in ("", *folders):
                if folder not in self._watched:
                    with contextlib.suppress(FileNotFoundError):  # the folder above is watched
                        self._add(folder)
        except OSError:
            return False
        self._heard = False
        return True

    def is_silent(self) -> bool:
        """Return whether nothing was touched since `begin`."""
        self._heard = self._read() or self._heard
        return not self._heard

    def close(self) -> None:
        os.close(self._fd)

    def _add(self, folder: str) -> None:
        path = os.fsencode(self._root / folder)
        mask = _HEARD | _ONLY_FOLDER | _NO_FOLLOW
        self._checked(self._libc.inotify_add_watch(self._fd, path, ctypes.c_uint32(mask)))
        self._watched.add(folder)

    def _read(self) -> bool:
        found = False
        while True:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return found
            found = True
            at = 0
            while at < len(data):
                _, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                if mask & (_IS_FOLDER | _SELF | _LOST):
                    self._watched.clear()  # another folder may be in the place of a watched one

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result
