"""Asks what is in the tree of a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.git.answers import TreeEntry, parse_blobs, parse_entries
from shared.git.client import Git, GitFailed


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
