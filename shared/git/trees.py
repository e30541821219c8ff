"""Asks what is in the tree of a commit."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence

from shared.git.answers import TreeEntry, parse_batch, parse_blobs, parse_entries
from shared.git.client import Git, GitFailed

_REGULAR = ("100644", "100755")
_HELD_BYTES = 64_000_000  # of contents that are in memory at a time


def tree_of(git: Git, commit: str) -> str:
    """Return the id of a commit's tree."""
    return git.run("rev-parse", "--verify", "--end-of-options", commit + "^{tree}")


def files_of(git: Git, commit: str) -> tuple[str, ...]:
    """Return the paths in a commit's tree, sorted."""
    output = git.run("ls-tree", "-r", "-z", "--name-only", commit)
    return tuple(sorted(filter(None, output.split("\0"))))


def submodules_of(git: Git, commit: str) -> tuple[str, ...]:
    """Return the folders of a commit's tree that are submodules."""
    # The option -d lists folders and submodules alone, which is fast even with many files.
    output = git.run("ls-tree", "-r", "-d", "-z", commit)
    records = (record.partition("\t") for record in output.split("\0"))
    return tuple(path for facts, _, path in records if facts.startswith("160000 "))


def holds_file(git: Git, commit: str, path: str) -> bool:
    """Return whether `commit` has a file at `path`."""
    return path in entries_of(git, commit, [path])


def entries_of(git: Git, tree: str, paths: Sequence[str]) -> Mapping[str, TreeEntry]:
    """Return a tree's entries, by path, for those of `paths` that it has."""
    return parse_entries(git.run("ls-tree", "-z", "--", tree, *paths))


def sizes_of(git: Git, commit: str, paths: Sequence[str]) -> Mapping[str, int]:
    """Return the sizes in bytes of those of `paths` that are files in `commit`."""
    records = git.run("ls-tree", "-l", "-z", "--", commit, *paths).split("\0")
    entries = (record.partition("\t") for record in records if record)
    facts = ((path, words.split()) for words, _, path in entries)
    return {path: int(words[3]) for path, words in facts if words[1] == "blob"}


def hashes_of(git: Git, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the SHA-256 of what git stores, for those of `paths` that are files in `commit`.

    Links and submodules are left out. Two git processes answer, whatever the size of the tree.
    """
    if not paths:
        return {}
    ids = {}
    sizes = {}
    for record in filter(None, git.run("ls-tree", "-l", "-z", "--", commit, *paths).split("\0")):
        facts, _, path = record.partition("\t")
        mode, _, object_id, size = facts.split()
        if mode in _REGULAR:
            ids[path], sizes[object_id] = object_id, int(size)
    hashes = _hashes(git, sizes)
    return {path: hashes[each] for path, each in ids.items() if each in hashes}


def hashes_of_files(git: Git, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the SHA-256 of what git stores of `paths`, which are files in `commit`.

    One git process answers, and all contents are in memory: the files of one proposal are small.
    """
    if not paths or any("\n" in path for path in paths):
        return hashes_of(git, commit, paths)
    asked = "".join(f"{commit}:{path}\n" for path in paths).encode("utf-8", "surrogateescape")
    done = git.try_run("cat-file", "--batch", stdin=asked)
    if done.exit_code or done.timed_out:
        raise GitFailed(done)
    return {
        path: hashlib.sha256(found.content).hexdigest()
        for path, found in zip(paths, parse_batch(done.stdout), strict=False)
        if found.kind == "blob"
    }


def hashes_of_blobs(git: Git, object_ids: Collection[str]) -> Mapping[str, str]:
    """Return the SHA-256 of blobs by their ids; what is not there is left out."""
    if not object_ids:
        return {}
    asked = "".join(f"{each}\n" for each in object_ids).encode()
    lines = git.run("cat-file", "--batch-check", stdin=asked).splitlines()
    facts = (line.split(" ") for line in lines)
    return _hashes(git, {each[0]: int(each[2]) for each in facts if each[1:2] == ["blob"]})


def _hashes(git: Git, sizes: Mapping[str, int]) -> Mapping[str, str]:
    """Return the SHA-256 of blobs by their ids; `sizes` has their sizes in bytes."""
    found: dict[str, str] = {}
    group: list[str] = []
    room = _HELD_BYTES
    for object_id, size in sizes.items():
        if group and size > room:
            found |= _hashes_of_group(git, group)
            group, room = [], _HELD_BYTES
        group.append(object_id)
        room -= size
    return found | _hashes_of_group(git, group)


def _hashes_of_group(git: Git, object_ids: Sequence[str]) -> dict[str, str]:
    return {each: hashlib.sha256(data).hexdigest() for each, data in blobs(git, object_ids).items()}


def content_of(git: Git, commit: str, path: str) -> bytes | None:
    """Return the content that a checkout of `commit` would have at `path`.

    Filters are applied. The result is `None` where the commit has no such file.
    """
    done = git.try_run("cat-file", "--filters", f"{commit}:{path}")
    return None if done.exit_code else done.stdout


def blobs(git: Git, object_ids: Sequence[str]) -> Mapping[str, bytes]:
    """Return the stored content of blobs by their ids; what is not there is left out."""
    if not object_ids:
        return {}
    done = git.try_run("cat-file", "--batch", stdin="\n".join(object_ids).encode() + b"\n")
    if done.exit_code or done.timed_out:
        raise GitFailed(done)
    return parse_blobs(done.stdout)
