"""Reads what is in trees, commits and the index, and how they differ."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from shared.files.text_sources import MAX_SOURCE_BYTES, TreeSources
from shared.git.client import (
    SYNCED,
    FileChange,
    Git,
    GitFailed,
    PatchedFile,
    TreeEntry,
    parse_changes,
    parse_entries,
    parse_numstat,
    text_of,
)

_REGULAR = ("100644", "100755")
_SUBMODULE: Final = "160000 "
_HELD_BYTES = 64_000_000  # of contents that are in memory at a time


def tree_of(git: Git, commit: str) -> str:
    """Return the id of a commit's tree. It is asked once for each id: an id is a hash of it."""
    found = _TREES.get(commit)
    if found is None:
        found = git.run("rev-parse", "--verify", "--end-of-options", commit + "^{tree}")
        if _OBJECT_ID.fullmatch(commit):
            _TREES[commit] = found
    return found


_TREES: Final[dict[str, str]] = {}
_OBJECT_ID: Final = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def files_of(git: Git, commit: str) -> tuple[str, ...]:
    """Return the paths in a commit's tree, sorted."""
    output = git.run("ls-tree", "-r", "-z", "--name-only", commit)
    return tuple(sorted(filter(None, output.split("\0"))))


def files_and_submodules_of(git: Git, commit: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the paths in a commit's tree, and those of them that are submodules."""
    records = filter(None, git.run("ls-tree", "-r", "-z", commit).split("\0"))
    pairs = [record.partition("\t")[::2] for record in records]
    submodules = (path for facts, path in pairs if facts.startswith(_SUBMODULE))
    return frozenset(path for _, path in pairs), frozenset(submodules)


def submodules_of(git: Git, commit: str) -> tuple[str, ...]:
    """Return the folders of a commit's tree that are submodules."""
    # The option -d lists folders and submodules alone, which is fast even with many files.
    output = git.run("ls-tree", "-r", "-d", "-z", commit)
    records = (record.partition("\t") for record in output.split("\0"))
    return tuple(path for facts, _, path in records if facts.startswith(_SUBMODULE))


def entries_of(git: Git, tree: str, paths: Sequence[str]) -> Mapping[str, TreeEntry]:
    """Return a tree's entries, by path, for those of `paths` that it has."""
    if len(paths) <= _MOST_ASKED:
        return parse_entries(git.run("ls-tree", "-z", "--", tree, *paths))
    found, wanted = parse_entries(git.run("ls-tree", "-r", "-t", "-z", tree)), set(paths)
    return {path: entry for path, entry in found.items() if path in wanted}


def all_entries_of(git: Git, commit: str) -> Mapping[str, TreeEntry]:
    """Return all files, links and submodules of a commit's tree, by path."""
    return parse_entries(git.run("ls-tree", "-r", "-z", commit))


# With more, a look at the whole tree is faster, and a command line has an end.
_MOST_ASKED = 500


def _sized(
    git: Git, commit: str, paths: Sequence[str] | None = None
) -> Iterator[tuple[str, str, str, int]]:
    """Yield path, mode, id and size of each file and link of a commit, or of `paths` alone."""
    if paths is not None and not paths:
        return
    few = paths is not None and len(paths) <= _MOST_ASKED
    asked = ("--", commit, *(paths or ())) if few else ("-r", commit)
    wanted = None if few or paths is None else frozenset(paths)
    for record in filter(None, git.run("ls-tree", "-l", "-z", *asked).split("\0")):
        facts, _, path = record.partition("\t")
        mode, kind, object_id, size = facts.split()
        if kind == "blob" and (wanted is None or path in wanted):
            yield path, mode, object_id, int(size)


def sizes_of(git: Git, commit: str, paths: Sequence[str]) -> Mapping[str, int]:
    """Return the sizes in bytes of those of `paths` that are files in `commit`."""
    return {path: size for path, _, _, size in _sized(git, commit, paths)}


def plain_files_of(git: Git, commit: str) -> Mapping[str, tuple[str, int]]:
    """Return the ids and the sizes of a commit's plain files, by path."""
    found = _sized(git, commit)
    return {path: (each, size) for path, mode, each, size in found if mode in _REGULAR}


def hashes_of(git: Git, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the SHA-256 of what git stores, for those of `paths` that are files in `commit`.

    Links and submodules are left out. Two git processes answer, whatever the size of the tree.
    """
    if not paths:
        return {}
    found = [each for each in _sized(git, commit, paths) if each[1] in _REGULAR]
    hashes = _hashes(git, {object_id: size for _, _, object_id, size in found})
    return {path: hashes[each] for path, _, each, _ in found if each in hashes}


def hashes_of_files(git: Git, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the SHA-256 of what git stores of `paths`, which are files in `commit`.

    One git process answers, and all contents are in memory: the files of one proposal are small.
    """
    if not paths or any("\n" in path for path in paths):
        return hashes_of(git, commit, paths)
    stored = git.objects(f"{commit}:{path}" for path in paths)
    return {
        path: hashlib.sha256(found.content).hexdigest()
        for path, found in zip(paths, stored, strict=False)
        if found.kind == "blob"
    }


def hashes_of_blobs(git: Git, object_ids: Collection[str]) -> Mapping[str, str]:
    """Return the SHA-256 of blobs by their ids; what is not there is left out."""
    return _hashes(git, _blob_sizes(git, object_ids))


def _blob_sizes(git: Git, object_ids: Collection[str]) -> Mapping[str, int]:
    """Return the sizes of blobs in bytes by their ids; what is not there is left out."""
    if not object_ids:
        return {}
    asked = "".join(f"{each}\n" for each in object_ids).encode()
    lines = git.run("cat-file", "--batch-check", stdin=asked).splitlines()
    facts = (line.split(" ") for line in lines)
    return {each[0]: int(each[2]) for each in facts if each[1:2] == ["blob"]}


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

    Filters are applied. The result is `None` if the commit has no such file.
    """
    done = git.try_run("cat-file", "--filters", f"{commit}:{path}")
    return None if done.exit_code else done.stdout


def blobs(git: Git, object_ids: Sequence[str]) -> Mapping[str, bytes]:
    """Return the stored content of blobs by their ids; what is not there is left out."""
    if not object_ids:
        return {}
    return {each.name: each.content for each in git.objects(object_ids) if each.kind == "blob"}


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


def files_with(git: Git, commit: str, text: str, below: str = "") -> tuple[str, ...]:
    """Return the text files of a commit that hold `text` in a line, in or below a path.

    There are none where git cannot tell, as in a clone that lacks objects.
    """
    done = git.try_run(
        *("grep", "-l", "-z", "-F", "-I", "--no-color", "--full-name", "--no-textconv"),
        *("-e", text, commit, "--", *([below] if below else [])),
    )
    named = filter(None, text_of(done.stdout).split("\0")) if done.exit_code == 0 else ()
    return tuple(each.removeprefix(f"{commit}:") for each in named)


def untracked_files(git: Git) -> frozenset[str]:
    """Return the paths of the files that are not in the index, without those that git ignores."""
    output = git.run("ls-files", "-z", "--full-name", "--others", "--exclude-standard")
    return frozenset(filter(None, output.split("\0")))


def ignored(git: Git, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` that git's ignore rules match; the paths need not exist."""
    return frozenset(filter(None, _check_ignore(git, paths).split("\0")))


def ignored_by_tree(git: Git, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` that the tree's own `.gitignore` files match.

    The rules of the user's config and of the repo's `info/exclude` do not count.
    """
    fields = _check_ignore(git, paths, "--verbose").split("\0")
    found = zip(fields[::4], fields[2::4], fields[3::4], strict=False)
    return frozenset(
        path
        for source, pattern, path in found
        if source.rpartition("/")[2] == ".gitignore"
        and not source.startswith(("/", ".git/"))
        and not pattern.startswith("!")
    )


def _check_ignore(git: Git, paths: Sequence[str], *options: str) -> str:
    names = "".join(path + "\0" for path in paths).encode("utf-8", "surrogateescape")
    done = git.try_run(
        "check-ignore",
        "-z",
        "--stdin",
        *options,
        stdin=names,
        environment={"GIT_LITERAL_PATHSPECS": "0"},  # check-ignore refuses literal pathspecs
    )
    if done.exit_code not in (0, 1) or done.timed_out:  # 1: none of them is ignored
        raise GitFailed(done)
    return text_of(done.stdout)


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


def with_patch(git: Git, commit: str, patch: bytes) -> str:
    """Return the tree that a patch makes of a commit's; no index and no file is changed.

    Raises `GitFailed`, with git's own words, if the patch does not apply.
    """
    with tempfile.TemporaryDirectory(prefix="llmch-index-") as folder:
        own = {"GIT_INDEX_FILE": f"{folder}/index"}
        git.run("read-tree", commit, environment=own)
        git.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch, environment=own)
        return git.run("write-tree", environment=own)


def with_content(git: Git, commit: str, path: str, content: bytes) -> str:
    """Return the tree that a new content of one file makes of a commit's; its mode stays.

    No index and no file is changed, and no filter runs.
    """
    entry = entries_of(git, commit, (path,))[path]
    with tempfile.TemporaryDirectory(prefix="llmch-index-") as folder:
        own = {"GIT_INDEX_FILE": f"{folder}/index"}
        synced = git.with_config(SYNCED)
        blob = synced.run("hash-object", "-w", "--stdin", stdin=content)
        git.run("read-tree", commit, environment=own)
        line = f"{entry.mode} {blob}\t{path}\0".encode("utf-8", "surrogateescape")
        git.run("update-index", "-z", "--index-info", stdin=line, environment=own)
        return synced.run("write-tree", environment=own)


def merged(git: Git, ours: bytes, base: bytes, theirs: bytes) -> bytes | tuple[bytes, ...]:
    """Return a file with the changes of both sides since `base`, or a line of each conflict.

    Where both sides only insert at one place, ours goes before theirs. Raises `GitFailed`.
    """
    with tempfile.TemporaryDirectory(prefix="llmch-merge-") as folder:
        names = [f"{folder}/{name}" for name in ("ours", "base", "theirs")]
        for name, content in zip(names, (ours, base, theirs), strict=True):
            Path(name).write_bytes(content)
        # No line of the file looks like a mark: a heading may be underlined by any number of `=`.
        longest = max(map(len, _MARKS.findall(b"\n".join((ours, base, theirs)))), default=0)
        size = max(_SHORTEST_MARK, longest + 1)
        done = git.try_run("merge-file", "-p", "--diff3", f"--marker-size={size}", *names)
    if done.timed_out or done.exit_code > _MOST_CONFLICTS:
        raise GitFailed(done)
    return _with_insertions(done.stdout, size) if done.exit_code else done.stdout


_MARKS: Final = re.compile(rb"^(?:<+|\|+|=+|>+)", re.MULTILINE)
_SHORTEST_MARK: Final = 7


_MOST_CONFLICTS: Final = 127  # git says no greater number, and more for a failure


def _with_insertions(text: bytes, size: int) -> bytes | tuple[bytes, ...]:
    """Return a merged text with the insertions of both sides, or a line of each other conflict."""
    marks = [mark * size for mark in (b"<", b"|", b"=", b">")]
    found: list[bytes] = []
    conflicts: list[bytes] = []
    parts: list[list[bytes]] = []
    for line in text.splitlines(keepends=True):
        part = next((n for n, mark in enumerate(marks) if line.startswith(mark)), None)
        if part == len(marks) - 1:
            ours, base, theirs = parts
            if base:
                conflicts.append(next(filter(bytes.strip, (*ours, *base)), b"").strip())
            found += (*ours, *theirs)
            parts = []
        elif part is not None:
            parts.append([])
        else:
            (parts[-1] if parts else found).append(line)
    return tuple(conflicts) or b"".join(found)


def write_tree(git: Git) -> str:
    return git.with_config(SYNCED).run("write-tree")


class CommitSources(TreeSources):
    """Map paths to the texts that a commit's files have in git; no filter is applied."""

    def __init__(self, git: Git, commit: str) -> None:
        """Offer the files of `commit`. Raises `GitFailed` if git cannot read it."""
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
        self.commit: Final = commit
        self.blobs: Final[Mapping[str, str]] = blobs
        """The ids in git of all regular files, by path."""

    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        ids = dict.fromkeys(self.blobs[path] for path in paths if path in self.blobs)
        sizes = _blob_sizes(self.git, ids)
        small = [each for each in ids if sizes.get(each, MAX_SOURCE_BYTES + 1) <= MAX_SOURCE_BYTES]
        contents = blobs(self.git, small)
        return {path: _text(contents.get(self.blobs.get(path, ""))) for path in paths}


def _text(content: bytes | None) -> str | None:
    try:
        return content.decode("utf-8-sig") if content is not None else None
    except UnicodeDecodeError:
        return None


# The same patch comes out whatever the config says, and no program of the config is run.
_PATCH = ("--patch", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
# A patch id is computed from the patch: of a file of bytes, only this form tells all.
_WHOLE = (*_PATCH, "--full-index")
_FILE_HEAD = b"diff --git "


def files_between(git: Git, old: str, new: str) -> frozenset[str]:
    """Return the paths that differ between two commits."""
    output = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
    return frozenset(filter(None, output.split("\0")))


_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def lines_written(git: Git, old: str, new: str, path: str) -> frozenset[int]:
    """Return the lines of a file of `new`, counted from 1, that `old` does not have there."""
    output = git.run("diff-tree", "-U0", "--no-renames", "--text", old, new, "--", path)
    found = ((int(each[1]), int(each[2] or 1)) for each in _HUNK.finditer(output))
    return frozenset(line for first, count in found for line in range(first, first + count))


_BLAMED = re.compile(r"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$", re.MULTILINE)


def lines_from(git: Git, tip: str, commit: str, path: str) -> frozenset[int]:
    """Return the lines of a file at `tip`, counted from 1, that `commit` wrote; none without it.

    No program of the repository's config turns the file into text. Raises `GitFailed`.
    """
    done = git.try_run("blame", "--porcelain", "--no-textconv", tip, "--", path)
    if b"no such path" in done.stderr:
        return frozenset()
    if done.exit_code:
        raise GitFailed(done)
    found = _BLAMED.finditer(done.stdout.decode("utf-8", "surrogateescape"))
    return frozenset(int(each[2]) for each in found if each[1] == commit)


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
    """Return the patch id of the difference between two commits; "" if they are equal."""
    return next(iter(_patch_ids(git, _patch(git, "diff-tree", *_WHOLE, old, new)).values()), "")


def _patch_ids(git: Git, patch: bytes) -> Mapping[str, str]:
    pairs = (line.split() for line in git.run("patch-id", "--stable", stdin=patch).splitlines())
    return {commit: patch_id for patch_id, commit in pairs}


def files_in(git: Git, patch: bytes) -> tuple[PatchedFile, ...]:
    """Return the files that a patch changes, and how much of each; no repo is looked at."""
    if not patch.startswith(_FILE_HEAD) and b"\n" + _FILE_HEAD not in patch:
        return ()  # git would refuse it
    return parse_numstat(git.run("apply", "--numstat", "-z", "-", stdin=patch))
