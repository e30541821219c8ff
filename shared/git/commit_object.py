"""Reads a commit as the bytes that its id is the hash of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from shared.git.answers import parse_batch
from shared.git.client import Git, GitFailed
from shared.git.object_ids import object_id


@dataclass(frozen=True)
class CommitObject:
    """Hold a commit's id and bytes. Nothing of them is believed: anybody may have written them."""

    id: str
    raw: bytes

    @cached_property
    def is_intact(self) -> bool:
        """Whether the bytes are those that the id names."""
        return object_id("commit", self.raw, len(self.id)) == self.id

    @cached_property
    def _parts(self) -> tuple[tuple[tuple[str, str], ...], str]:
        head, _, message = self.raw.decode("utf-8", "surrogateescape").partition("\n\n")
        lines = (line.partition(" ") for line in head.split("\n"))
        return tuple((name, value) for name, _, value in lines), message

    @property
    def headers(self) -> tuple[str, ...]:
        """Return the names of the header lines; the lines that continue one have no name."""
        return tuple(name for name, _ in self._parts[0])

    @property
    def message(self) -> str:
        return self._parts[1]

    @property
    def tree(self) -> str:
        return self._first("tree")

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(value for name, value in self._parts[0] if name == "parent")

    @property
    def author(self) -> str:
        """Return the author with the date, as the object spells them."""
        return self._first("author")

    @property
    def committer(self) -> str:
        return self._first("committer")

    def _first(self, name: str) -> str:
        return next((value for each, value in self._parts[0] if each == name), "")


def read_commits(git: Git, ids: Collection[str]) -> Mapping[str, CommitObject]:
    """Return those of the commits that the repo has, by their ids."""
    if not ids:
        return {}
    asked = "".join(f"{each}\n" for each in ids).encode()
    done = git.try_run("cat-file", "--batch", stdin=asked)
    if done.exit_code or done.timed_out:
        raise GitFailed(done)
    return {
        each.name: CommitObject(each.name, each.content)
        for each in parse_batch(done.stdout)
        if each.kind == "commit"
    }
