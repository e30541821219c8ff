"""Writes a proposal, stages it in git, and checks that git stores exactly what was proposed.

Attributes and settings of the target can make git rewrite content on its way into a commit: line
ends, `$Id$`, encodings. But a commit must hold what was judged, byte for byte. So the tree is made
and checked before any command runs, and committed as it is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence

from factory.orders.documents import FileWrite
from factory.orders.stages import Stage
from factory.proposal.scope import WriteRefusal
from factory.workbench.side_by_side import side_by_side
from factory.workbench.tree import NotReadable, Tree
from shared.files.atomic_io import is_disk_full
from shared.git import index, repos
from shared.git.answers import TreeEntry
from shared.git.client import Git, GitFailed
from shared.git.object_ids import is_id_of

_REGULAR_MODES = frozenset({"100644", "100755"})
_ATTRIBUTES = ("filter", "ident", "working-tree-encoding")
_NO_VALUE = frozenset({"", "unset", "unspecified"})


def write_files(tree: Tree, writes: Sequence[FileWrite]) -> tuple[WriteRefusal, ...]:
    """Write files that have been checked; return the refusal of the file system, if any."""
    for write in writes:
        try:
            tree.write(write.path, write.content.encode())
        except (OSError, NotReadable) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            stage = Stage.ENVIRONMENT if is_disk_full(error) else Stage.WRITE_FAILED
            return (WriteRefusal(stage, f"{write.path!r} was not written: {reason}"),)
    return ()


def stage_files(
    git: Git, writes: Sequence[FileWrite], removed: Sequence[str] = ()
) -> tuple[str, tuple[WriteRefusal, ...]]:
    """Return the tree that a commit of the written files has, and a refusal for each problem.

    `removed` are the files that the tree does not have any more. A filter that the user's own
    config defines (git-lfs) may rewrite the files it applies to.
    """
    paths = [each.path for each in writes]
    try:
        if removed:
            index.remove(git, removed)
        index.stage(git, paths)
        tree, entries = side_by_side(
            lambda: index.write_tree(git), lambda: index.staged_entries(git, paths)
        )
    except GitFailed as failed:
        return "", tuple(_refused_by_git(git, paths, failed))
    altered = [each for each in writes if not _is_stored_as_proposed(each, entries)]
    return tree, tuple(_alterations(git, altered))


def _is_stored_as_proposed(write: FileWrite, entries: Mapping[str, TreeEntry]) -> bool:
    entry = entries.get(write.path)
    return (
        entry is not None
        and entry.mode in _REGULAR_MODES
        and is_id_of(entry.object_id, write.content.encode())
    )


def _alterations(git: Git, altered: Sequence[FileWrite]) -> Iterator[WriteRefusal]:
    if not altered:
        return
    attributes = index.attributes_of(git, [each.path for each in altered], _ATTRIBUTES)
    for write in altered:
        found = attributes[write.path]
        if not _is_filtered(git, found["filter"]):
            yield _violation(write.path, _alteration(write.content, found))


def _alteration(content: str, attributes: Mapping[str, str]) -> str:
    if encoding := _encoding(attributes):
        return f"is to be {encoding} by .gitattributes, and only UTF-8 can be written"
    if "\r\n" in content:
        return "has CRLF line ends, which git is set up to store as LF here: use LF"
    if attributes["ident"] == "set":
        return "has an expanded $Id$, which git stores as plain $Id$ here: write that"
    return "would be stored by git with other content"


def _encoding(attributes: Mapping[str, str]) -> str:
    value = attributes["working-tree-encoding"]
    return "" if value in _NO_VALUE else value


def _is_filtered(git: Git, name: str) -> bool:
    """Return whether a filter of this name runs; one that only the repo defines does not."""
    keys = (f"filter.{name}.clean", f"filter.{name}.process")
    return name not in _NO_VALUE and any(repos.setting(git, key) for key in keys)


def _refused_by_git(git: Git, paths: Sequence[str], failed: GitFailed) -> Iterator[WriteRefusal]:
    """Yield a refusal for each file whose encoding git could not read, or one for any other error.

    Only the former can be fixed by other content.
    """
    attributes = index.attributes_of(git, paths, _ATTRIBUTES)
    encoded = [path for path in paths if _encoding(attributes[path])]
    for path in encoded:
        yield _violation(path, _alteration("", attributes[path]))
    if not encoded:
        full = os.strerror(errno.ENOSPC) in failed.message
        yield WriteRefusal(Stage.ENVIRONMENT if full else Stage.WRITE_FAILED, failed.message)


def _violation(path: str, problem: str) -> WriteRefusal:
    return WriteRefusal(
        Stage.WRITE_SCOPE_VIOLATION,
        f"{path!r} {problem}; what is committed must be exactly what was proposed",
    )
