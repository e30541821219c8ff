"""Asks how commits, trees or folders differ, and what a patch changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from shared.git.answers import FileChange, PatchedFile, parse_changes, parse_numstat
from shared.git.client import Git, GitFailed, text_of

# The same patch comes out whatever the config says, and no program of the config is run.
_PATCH = ("--patch", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
# A patch id is computed from the patch: of a file of bytes, only this form tells all.
_WHOLE = (*_PATCH, "--full-index")
_FILE_HEAD = b"diff --git "


def files_between(git: Git, old: str, new: str) -> frozenset[str]:
    """Return the paths that differ between two commits."""
    output = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
    return frozenset(filter(None, output.split("\0")))


def changes_of_files(
    git: Git, tip: str, until: str, paths: Sequence[str], *, limit: int
) -> tuple[FileChange, ...]:
    """Return the changes of `paths` in the commits before `tip`, newest first, of `limit` commits.

    With a commit for `until`, that commit and those before it are left out. So are merges, but not
    what a merge gave up in favour of its other side.
    """
    since = [f"^{until}"] if until else []
    output = git.run(
        "log", "-z", "--raw", "--no-abbrev", "--no-renames", "--full-history", "--format=%x01%H",
        f"--max-count={limit}", tip, *since, "--", *paths,
    )  # fmt: skip
    return parse_changes(output)


def made_by(git: Git, commits: Collection[str]) -> Mapping[str, Mapping[str, str]]:
    """Return, for each of the commits, git's letter for what it did to each path it changed.

    The letters are `A` (added), `D` (deleted), `M` and `T` (changed). A merge changes no path.
    """
    stdin = "".join(f"{each}\n" for each in commits).encode()
    arguments = ("-r", "-z", "--root", "--name-status", "--no-renames")
    fields = iter(git.run("diff-tree", "--stdin", *arguments, stdin=stdin).split("\0"))
    made: dict[str, dict[str, str]] = {each: {} for each in commits}
    current: dict[str, str] = {}
    for field in filter(None, fields):
        if field in made:
            current = made[field]
        else:
            current[next(fields, "")] = field
    return made


def between(git: Git, old: str, new: str) -> bytes:
    """Return the difference between two commits or trees as a patch for `git apply`."""
    return _patch(git, "diff-tree", *_PATCH, old, new)


def of_folders(git: Git, old: str, new: str) -> bytes:
    """Return the difference between two folders; their names stand before each path."""
    return _patch(git, "diff", "--no-index", "--no-prefix", *_PATCH, "--", old, new)


def _patch(git: Git, *arguments: str, stdin: bytes = b"") -> bytes:
    done = git.try_run(*arguments, stdin=stdin)
    if done.exit_code not in (0, 1) or done.timed_out:  # 1: the folders differ
        raise GitFailed(done)
    return done.stdout


def ids_of(git: Git, commits: Sequence[str]) -> Mapping[str, str]:
    """Return the patch id of each of `commits`: equal changes have equal ids.

    Commits without changes and merges are left out.
    """
    if not commits:
        return {}
    listed = "".join(f"{each}\n" for each in commits).encode()
    return _patch_ids(git, _patch(git, "diff-tree", *_WHOLE, "--root", "--stdin", stdin=listed))


def id_between(git: Git, old: str, new: str) -> str:
    """Return the patch id of the difference between two commits; "" where they are equal."""
    return next(iter(_patch_ids(git, _patch(git, "diff-tree", *_WHOLE, old, new)).values()), "")


def _patch_ids(git: Git, patch: bytes) -> Mapping[str, str]:
    done = git.try_run("patch-id", "--stable", stdin=patch)
    if done.exit_code or done.timed_out:
        raise GitFailed(done)
    pairs = (line.split() for line in text_of(done.stdout).splitlines())
    return {commit: patch_id for patch_id, commit in pairs}


def files_in(git: Git, patch: bytes) -> tuple[PatchedFile, ...]:
    """Return the files that a patch changes, and how much of each; no repo is looked at."""
    if not patch.startswith(_FILE_HEAD) and b"\n" + _FILE_HEAD not in patch:
        return ()  # git would refuse it
    done = git.try_run("apply", "--numstat", "-z", "-", stdin=patch)
    if done.exit_code or done.timed_out:
        raise GitFailed(done)
    return parse_numstat(text_of(done.stdout))
