"""Parses the output of git. This module is pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SIZED: Final = re.compile("(?P<id>[0-9a-f]{40}|[0-9a-f]{64}) (?P<kind>[a-z]+) (?P<size>[0-9]+)")


@dataclass(frozen=True, slots=True)
class Changes:
    """Hold the result of `git status`: the commit and branch checked out, and the changed paths.

    `head` is empty before the first commit, `branch` on a detached HEAD. `changed` are tracked
    paths that differ from the commit or the index. `untracked` are paths that git neither tracks
    nor ignores; a folder without tracked files ends in a slash.
    """

    head: str
    branch: str
    changed: tuple[str, ...]
    untracked: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Return whether no path is changed or untracked."""
        return not self.changed and not self.untracked


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """Hold the entry of a tree at a path: its mode, such as "100644", and the object's id."""

    mode: str
    object_id: str


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Hold an object: its id, and its kind, such as "blob"; the kind of a missing one is ""."""

    name: str
    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """Hold how many lines a patch adds to a file and removes; `None` for a file of binary data."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """Hold that a commit changed a file: the ids of its content before and after.

    An id is all zeros where the file was not there.
    """

    commit: str
    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """Describe a working tree of the repo; `branch` is empty where none is checked out."""

    path: Path
    branch: str


def parse_entries(output: str) -> dict[str, TreeEntry]:
    """Return the entries, by path, of `ls-files` ("mode id stage") or `ls-tree` output.

    A record of `ls-tree` is "mode type id".
    """
    found = {}
    for record in filter(None, output.split("\0")):
        facts, _, path = record.partition("\t")
        mode, *rest = facts.split(" ")
        found[path] = TreeEntry(mode, max(rest, key=len))
    return found


def parse_blobs(output: bytes) -> dict[str, bytes]:
    """Return the contents of the files, by id, in the output of `cat-file --batch`."""
    return {each.name: each.content for each in parse_batch(output) if each.kind == "blob"}


def parse_batch(output: bytes) -> Iterator[StoredObject]:
    """Yield the objects in the output of `cat-file --batch`, in the sequence of the questions."""
    while output:
        head, _, rest = output.partition(b"\n")
        text = head.decode("utf-8", "surrogateescape")
        found = _SIZED.fullmatch(text)
        if found is None:  # "ID missing"
            yield StoredObject(text, "", b"")
            output = rest
            continue
        length = int(found["size"])
        yield StoredObject(found["id"], found["kind"], rest[:length])
        output = rest[length + 1 :]


def parse_numstat(output: str) -> tuple[PatchedFile, ...]:
    """Return the files in the output of `--numstat -z`, which writes `-` for binary data."""
    found = []
    for record in filter(None, output.split("\0")):
        added, removed, path = record.split("\t", 2)
        found.append(PatchedFile(path, _lines(added), _lines(removed)))
    return tuple(found)


def parse_changes(output: str) -> tuple[FileChange, ...]:
    """Return the changes in the output of `log -z --raw --format=%x01%H`, in its sequence."""
    found: list[FileChange] = []
    commit = ""
    records = iter(output.split("\0"))
    for record in records:
        text = record.lstrip("\n")
        if text.startswith("\x01"):
            commit = text[1:].strip()
        elif text.startswith(":"):
            _, _, before, after, _ = text.split(" ")
            found.append(FileChange(commit, next(records, ""), before, after))
    return tuple(found)


def _lines(count: str) -> int | None:
    return int(count) if count.isdigit() else None


def parse_status(records: Sequence[str]) -> Changes:
    """Return the changes that the records of `git status --porcelain=v2` list."""
    head = branch = ""
    changed: list[str] = []
    untracked: list[str] = []
    for record in records:
        if record.startswith("# branch.oid "):
            head = record.removeprefix("# branch.oid ")
        elif record.startswith("# branch.head "):
            branch = record.removeprefix("# branch.head ")
        elif record.startswith("1 "):
            changed.append(record.split(" ", 8)[8])
        elif record.startswith("u "):
            changed.append(record.split(" ", 10)[10])
        elif record.startswith("? "):
            untracked.append(record[2:])
    return Changes(
        head="" if head == "(initial)" else head,
        branch="" if branch == "(detached)" else branch,
        changed=tuple(sorted(changed)),
        untracked=tuple(sorted(untracked)),
    )
