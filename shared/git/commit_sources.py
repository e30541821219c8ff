"""Reads the texts of a commit's files from git's objects, without a checkout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shared.files.tree_sources import MAX_SOURCE_BYTES, TreeSources
from shared.git import trees
from shared.git.client import Git

_REGULAR: Final = ("100644", "100755")


class CommitSources(TreeSources):
    """Map paths to the texts that a commit's files have in git; no filter is applied."""

    def __init__(self, git: Git, commit: str) -> None:
        """Offer the files of `commit`. Raises `GitFailed` where git cannot read it."""
        blobs: dict[str, str] = {}
        paths: list[str] = []
        for record in filter(None, git.run("ls-tree", "-r", "-z", commit).split("\0")):
            facts, _, path = record.partition("\t")
            mode, _, object_id = facts.split(" ")
            paths.append(path)
            if mode in _REGULAR:
                blobs[path] = object_id
        super().__init__(paths)
        self.git: Final = git
        self.blobs: Final[Mapping[str, str]] = blobs
        """The ids in git of all regular files, by path."""

    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        ids = dict.fromkeys(self.blobs[path] for path in paths if path in self.blobs)
        sizes = self._sizes_of(tuple(ids))
        small = [each for each in ids if sizes.get(each, MAX_SOURCE_BYTES + 1) <= MAX_SOURCE_BYTES]
        contents = trees.blobs(self.git, small)
        return {path: _text(contents.get(self.blobs.get(path, ""))) for path in paths}

    def _sizes_of(self, ids: Sequence[str]) -> Mapping[str, int]:
        """Return the sizes of blobs in bytes by their ids; what is not there is left out."""
        if not ids:
            return {}
        asked = "\n".join(ids).encode() + b"\n"
        answer = self.git.run("cat-file", "--batch-check", stdin=asked)
        facts = (line.split(" ") for line in answer.splitlines())
        return {each[0]: int(each[2]) for each in facts if len(each) == 3 and each[1] == "blob"}


def _text(content: bytes | None) -> str | None:
    try:
        return content.decode("utf-8-sig") if content is not None else None
    except UnicodeDecodeError:
        return None
