"""Reads the texts of a target repo's files. It trusts none of them, and follows no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from shared.files.tree_sources import MAX_SOURCE_BYTES, TreeSources

MAX_DEPTH: Final = 40  # folders above a file that is read


class RepoSources(TreeSources):
    """Map paths to the texts of a checkout's files, as they are on the disk."""

    def __init__(self, root: Path, files: Collection[str] = ()) -> None:
        """Offer `files` below `root`, as git lists them."""
        super().__init__(files)
        self._root = root
        self._folders: dict[str, bool] = {"": True}

    def read(self, path: str) -> str | None:
        """Return the text of a file below the root, `None` where it cannot be read."""
        if path.count("/") > MAX_DEPTH or not self._behind_no_link(path):
            return None
        return _read(self._root / path)

    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        return {path: self.read(path) for path in paths}

    def _behind_no_link(self, path: str) -> bool:
        """Say whether every folder above `path` is a real folder, not a link."""
        parts = path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            folder = "/".join(parts[:count])
            if folder not in self._folders:
                try:
                    mode = (self._root / folder).lstat().st_mode
                    self._folders[folder] = stat.S_ISDIR(mode)
                except (OSError, ValueError):
                    self._folders[folder] = False
            if not self._folders[folder]:
                return False
        return True


def _read(file: Path) -> str | None:
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(file, flags)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SOURCE_BYTES:
            return None
        return os.read(descriptor, MAX_SOURCE_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(descriptor)
