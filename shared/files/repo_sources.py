"""Reads the texts of a target repo's files. It trusts none of them, and follows no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

MAX_SOURCE_BYTES: Final = 200_000
MAX_DEPTH: Final = 40  # folders above a file that is read


class RepoSources(Mapping[str, str]):
    """Map paths to texts, which are read on demand; a file that cannot be read is absent.

    Links and the files behind them are absent. So are files that are not regular, exceed
    `MAX_SOURCE_BYTES`, or are not UTF-8.
    """

    def __init__(self, root: Path, files: Collection[str] = ()) -> None:
        """Offer `files` below `root`, as git lists them."""
        self._root = root
        self._files = frozenset(files)
        self._paths = tuple(sorted(self._files))
        self._folders: dict[str, bool] = {"": True}
        self._texts: dict[str, str | None] = {}

    def __getitem__(self, path: str) -> str:
        text = self.text(path)
        if text is None:
            raise KeyError(path)
        return text

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path in self._files and self._text(path) is not None

    def __iter__(self) -> Iterator[str]:
        return (path for path in sorted(self._files) if self._text(path) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def paths(self) -> Sequence[str]:
        """Return the paths of all files that are offered, sorted, readable or not."""
        return self._paths

    def text(self, path: str) -> str | None:
        """Return the text of an offered file, `None` where it cannot be read."""
        return self._text(path) if path in self._files else None

    def read(self, path: str) -> str | None:
        """Return the text of a file below the root, `None` where it cannot be read."""
        if path.count("/") > MAX_DEPTH or not self._behind_no_link(path):
            return None
        return _read(self._root / path)

    def _text(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = self.read(path)
        return self._texts[path]

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
