"""Asks about the index and about the rules for paths, and puts files into it or takes them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.git.answers import TreeEntry, parse_entries
from shared.git.client import Git, GitFailed, text_of
from shared.git.config import SYNCED


def tracked_files(git: Git) -> tuple[str, ...]:
    """Return the paths in the index, sorted."""
    output = git.run("ls-files", "-z", "--full-name")
    return tuple(sorted(filter(None, output.split("\0"))))


def files_not_ignored(git: Git) -> tuple[str, ...]:
    """Return the paths of all files but those that git ignores, tracked or not, sorted."""
    output = git.run("ls-files", "-z", "--full-name", "--cached", "--others", "--exclude-standard")
    return tuple(sorted(set(filter(None, output.split("\0")))))


def has_staged(git: Git, commit: str) -> bool:
    """Return whether the index is that of `commit`; the files themselves do not matter."""
    done = git.try_run("diff-index", "--cached", "--quiet", "--no-ext-diff", commit, "--")
    return done.exit_code == 0


def all_entries(git: Git) -> Mapping[str, TreeEntry]:
    """Return the index's entries by path."""
    return parse_entries(git.run("ls-files", "--stage", "-z", "--full-name"))


def staged_entries(git: Git, paths: Sequence[str]) -> Mapping[str, TreeEntry]:
    """Return the index's entries, by path, for those of `paths` that it has."""
    return parse_entries(git.run("ls-files", "--stage", "-z", "--", *paths))


def attributes_of(
    git: Git, paths: Sequence[str], names: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """Return the named attributes' values by path: "set", "unset", "unspecified", ..."""
    stdin = "".join(path + "\0" for path in paths).encode()
    fields = git.run("check-attr", "-z", "--stdin", *names, stdin=stdin).split("\0")
    found: dict[str, dict[str, str]] = {path: {} for path in paths}
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        found[path][name] = value
    return found


def ignored(git: Git, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` that git's ignore rules match; the paths need not exist."""
    names = "".join(path + "\0" for path in paths).encode("utf-8", "surrogateescape")
    done = git.try_run(
        "check-ignore",
        "-z",
        "--stdin",
        stdin=names,
        environment={"GIT_LITERAL_PATHSPECS": "0"},  # check-ignore refuses literal pathspecs
    )
    if done.exit_code not in (0, 1) or done.timed_out:  # 1: none of them is ignored
        raise GitFailed(done)
    return frozenset(filter(None, text_of(done.stdout).split("\0")))


def stage(git: Git, paths: Sequence[str]) -> None:
    """Put the named files, and nothing else, into the index, even where they are ignored.

    On an index with very many files, `git add` would take half as long again.
    """
    names = "".join(path + "\0" for path in paths).encode()
    git.with_config(SYNCED).run("update-index", "--add", "-z", "--stdin", stdin=names)


def remove(git: Git, paths: Sequence[str]) -> None:
    """Take the named files out of the index, whether or not they are in the tree."""
    names = "".join(path + "\0" for path in paths).encode()
    git.with_config(SYNCED).run("update-index", "--force-remove", "-z", "--stdin", stdin=names)


def write_tree(git: Git) -> str:
    """Return the id of the index as a tree."""
    return git.with_config(SYNCED).run("write-tree")
