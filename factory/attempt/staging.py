"""What git stores of a proposal, and whether that is what was proposed.

Attributes and settings of the target can have git rewrite content on its way into a commit: line
ends, `$Id$`, encodings. What is committed must be what was judged, byte for byte; so the tree is
made before any command runs, looked at, and committed as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from factory.orders.documents import FileWrite, Stage, WriteProposal
from factory.proposal.scope import WriteRefusal
from factory.workbench.side_by_side import side_by_side
from shared.git.answers import TreeEntry
from shared.git.client import Git, GitFailed

_REGULAR_MODES = frozenset({"100644", "100755"})
_ATTRIBUTES = ("filter", "ident", "working-tree-encoding")
_NO_VALUE = frozenset({"", "unset", "unspecified"})


def stage_proposal(git: Git, proposal: WriteProposal) -> tuple[str, tuple[WriteRefusal, ...]]:
    """Return the tree that a commit of the written files has, and what is wrong with it.

    A filter that the user's own config defines (git-lfs) may rewrite what it is for.
    """
    try:
        git.stage(proposal.paths)
        tree, entries = side_by_side(git.write_tree, lambda: git.staged_entries(proposal.paths))
    except GitFailed as failed:
        return "", tuple(_refused_by_git(git, proposal.paths, failed))
    altered = [each for each in proposal.writes if not _is_stored_as_proposed(each, entries)]
    return tree, tuple(_alterations(git, altered))


def _is_stored_as_proposed(write: FileWrite, entries: Mapping[str, TreeEntry]) -> bool:
    entry = entries.get(write.path)
    return (
        entry is not None
        and entry.mode in _REGULAR_MODES
        and entry.object_id == _blob_id(write.content.encode(), len(entry.object_id))
    )


def _blob_id(content: bytes, length: int) -> str:
    """Return the name git gives to `content`, in the repo's own kind of hash."""
    data = b"blob %d\0%b" % (len(content), content)
    algorithm = "sha1" if length == 40 else "sha256"
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def _alterations(git: Git, altered: Sequence[FileWrite]) -> Iterator[WriteRefusal]:
    if not altered:
        return
    attributes = git.attributes_of([each.path for each in altered], _ATTRIBUTES)
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
    """Say whether a filter of this name is in force; one that only the repo defines is not."""
    keys = (f"filter.{name}.clean", f"filter.{name}.process")
    return name not in _NO_VALUE and any(git.setting(key) for key in keys)


def _refused_by_git(git: Git, paths: Sequence[str], failed: GitFailed) -> Iterator[WriteRefusal]:
    """Other content can mend an encoding that git could not read, but nothing else."""
    attributes = git.attributes_of(paths, _ATTRIBUTES)
    encoded = [path for path in paths if _encoding(attributes[path])]
    for path in encoded:
        yield _violation(path, _alteration("", attributes[path]))
    if not encoded:
        yield WriteRefusal(Stage.WRITE_FAILED, failed.message)


def _violation(path: str, problem: str) -> WriteRefusal:
    return WriteRefusal(
        Stage.WRITE_SCOPE_VIOLATION,
        f"{path!r} {problem}; what is committed must be exactly what was proposed",
    )
