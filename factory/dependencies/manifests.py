"""Reads the manifests and lock files of a tree. It trusts none of them, and follows no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput
from shared.languages.registry import LANGUAGES
from shared.work_order.hashing import sha256_bytes

# A lock of 3,000 packages takes 2 MB; a manifest that a person keeps is far shorter.
_LONGEST: Final = 16 * 1024 * 1024
_MOST_FILES: Final = 500
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Manifests:
    """Implement `ManifestFiles` for the tree at `root`."""

    root: Path
    paths: tuple[str, ...]

    @classmethod
    def of(cls, root: Path, tracked: Iterable[str] = ()) -> Manifests:
        """Return the manifests among the tracked files, and those in the root folder itself."""
        try:
            here = [entry.name for entry in root.iterdir()]
        except OSError:
            here = []
        found = sorted({path for path in (*tracked, *here) if is_manifest(path)})
        return cls(root, tuple(found[:_MOST_FILES]))

    def named(self, name: str) -> tuple[str, ...]:
        """Return the paths of all files of this name, the outermost first."""
        found = (path for path in self.paths if path.rpartition("/")[2] == name)
        return tuple(sorted(found, key=lambda path: (path.count("/"), path)))

    def text(self, path: str) -> str | None:
        """Return the text of a regular file; `None` where there is none, or behind a link.

        Raises `InvalidInput` for a file that is too large or is not UTF-8.
        """
        data = self._bytes(path)
        if data is None:
            return None
        if len(data) > _LONGEST:
            raise InvalidInput(f"{path} is over {_LONGEST} bytes", "shorten it")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8", "correct it") from error

    def fingerprint(self) -> str:
        """Return a hash of all the files, which changes when one of them does."""
        parts = (f"{path}\0{sha256_bytes(self._bytes(path) or b'')}" for path in self.paths)
        return sha256_bytes("\n".join(parts).encode("utf-8", "surrogateescape"))

    def _bytes(self, path: str) -> bytes | None:
        try:
            with os.fdopen(self._open(path), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                return file.read(_LONGEST + 1)
        except (OSError, ValueError):
            return None

    def _open(self, path: str) -> int:
        *folders, name = path.split("/")
        if any(part in ("", ".", "..") for part in (*folders, name)):
            raise ValueError(path)
        current = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                below = os.open(folder, _FOLDER, dir_fd=current)
                os.close(current)
                current = below
            return os.open(name, _FILE, dir_fd=current)
        finally:
            os.close(current)


def is_manifest(path: str) -> bool:
    """Return whether a file of this path is a manifest or a lock of any language, by its name."""
    known = (each.dependencies for each in LANGUAGES if each.dependencies is not None)
    return any(each.is_manifest(path) for each in known)
