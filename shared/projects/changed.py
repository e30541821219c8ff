"""Offers the files of a tree as they are once some of them are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.projects.base import RepoFiles


class ChangedFiles:
    """Lay texts over the files of a tree; `None` stands for a file that is not there."""

    def __init__(self, files: RepoFiles, texts: Mapping[str, str | None]) -> None:
        self._files = files
        self._texts = texts
        there = {path for path, text in texts.items() if text is not None}
        gone = texts.keys() - there
        self._paths = files.paths
        if gone or not there <= set(files.paths):
            self._paths = tuple(sorted((set(files.paths) | there) - gone))

    @property
    def paths(self) -> Sequence[str]:
        """Return the paths of all files, sorted."""
        return self._paths

    def text(self, path: str) -> str | None:
        """Return the text that was laid over the file, else the file's own."""
        return self._texts[path] if path in self._texts else self._files.text(path)
