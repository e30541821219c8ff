"""Checks whether a proposal may be applied. Pure: the state of the files is a parameter."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Protocol

from factory.orders.documents import (
    MAX_EDITED_BYTES,
    MAX_EDITED_IN_ALL_BYTES,
    MAX_PROPOSAL_BYTES,
    MAX_WRITE_BYTES,
    FileWrite,
    WriteProposal,
)
from factory.orders.stages import Stage
from shared.files.paths import PathProblem, check_path, fold_path, is_git_path
from shared.languages.appended_tests import tests_beside_code
from shared.work_order.work_order import WorkOrder

_MAX_NAME_BYTES = 255  # of one component, on every file system in common use


class FileKind(StrEnum):
    """Name the kind of thing that is at a path of the workspace."""

    ABSENT = "absent"
    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    OTHER = "other"
    BEHIND_LINK = "behind a link"
    BEHIND_FILE = "behind a file"
    IN_SUBMODULE = "in a submodule"
    IN_LINKED = "in a linked folder"
    UNREADABLE = "unreadable"


DESCRIPTIONS = {
    FileKind.ABSENT: "does not exist",
    FileKind.FILE: "exists",
    FileKind.LINK: "is a symbolic link",
    FileKind.FOLDER: "is a folder",
    FileKind.OTHER: "is no regular file",
    FileKind.BEHIND_LINK: "lies behind a symbolic link",
    FileKind.BEHIND_FILE: "lies below something that is no folder",
    FileKind.IN_SUBMODULE: "lies in a submodule, which is a repo of its own",
    FileKind.IN_LINKED: "lies in a folder of installed packages that is shown read-only",
    FileKind.UNREADABLE: "is out of reach: its name is too long, or its folder is locked",
}
"""The words in which messages describe a path of each kind."""


@dataclass(frozen=True, slots=True)
class FileState:
    """Hold what is at a path, and the hash of its bytes.

    If there is no readable file at the path, the hash is that of zero bytes.
    """

    kind: FileKind
    sha256: str


class Files(Protocol):
    """Answer the questions about the files of a workspace that judging a proposal needs."""

    def state_of(self, path: str) -> FileState:
        """Return what is at `path` now."""

    def lookalike_of(self, path: str) -> str:
        """Return an existing path that some file systems would take for `path`, else ""."""


@dataclass(frozen=True, slots=True)
class WriteRefusal:
    """Say why a proposal may not be applied."""

    stage: Stage
    message: str


def check_proposal(
    order: WorkOrder, proposal: WriteProposal, shown: Mapping[str, FileState], files: Files
) -> tuple[WriteRefusal, ...]:
    """Return all violations of the first kind found; none means the proposal may be applied.

    `shown` is the state of the files that the prompt showed, `files` gives their state now. Scope
    comes before freshness: if a file may not be written, its stale hash does not matter.
    """
    scope = tuple(
        WriteRefusal(Stage.WRITE_SCOPE_VIOLATION, message)
        for message in _out_of_scope(order, proposal, files)
    )
    if scope:
        return scope
    return tuple(
        WriteRefusal(Stage.STALE_CONTEXT, message) for message in _stale(proposal, shown, files)
    )


def _out_of_scope(order: WorkOrder, proposal: WriteProposal, files: Files) -> Iterator[str]:
    allowed = frozenset(order.allowed_files)
    folders = {folder for path in proposal.paths for folder in _folders_of(fold_path(path))}
    seen: set[str] = set()
    sizes = {False: 0, True: 0}  # by whether the file exists
    for write in proposal.writes:
        folded = fold_path(write.path)
        problem = (
            _acceptance_violation(write.path, order)
            or _removal_violation(write.path, order)
            or _path_violation(write.path, allowed)
            or _forbidden_violation(write.path, order.forbidden)
            or ("is proposed twice" if folded in seen else None)
            or ("is proposed as a file and as a folder" if folded in folders else None)
            or _content_violation(write, files)
            or _place_violation(write.path, files)
        )
        seen.add(folded)
        if problem:
            yield f"{write.path!r} {problem}"
        else:
            sizes[_exists(write.path, files)] += _size(write.content)
    for exist, limit in ((False, MAX_PROPOSAL_BYTES), (True, MAX_EDITED_IN_ALL_BYTES)):
        if sizes[exist] > limit:
            which = "existing files" if exist else "files"
            yield f"the {which} have {sizes[exist]:,} bytes together, over the limit of {limit:,}"


def _path_violation(path: str, allowed: frozenset[str]) -> str | None:
    try:
        normalised = check_path(path)
    except PathProblem as problem:
        return f"is no path inside the repo: {problem}"
    if normalised != path:
        return f"must be written as {normalised!r}"
    if is_git_path(path):
        return "is git's own"
    if path not in allowed:
        return "is not in allowed_files"
    if any(len(name.encode()) > _MAX_NAME_BYTES for name in path.split("/")):
        return f"has a name of over {_MAX_NAME_BYTES} bytes, which file systems refuse"
    return None


def _acceptance_violation(path: str, order: WorkOrder) -> str | None:
    if path in tests_beside_code(order):
        return None  # the harness adds the test to what is written
    if any(fold_path(each.path) == fold_path(path) for each in order.acceptance_files):
        return "is a test of the plan, which is there already and which no reply may write"
    return None


def _removal_violation(path: str, order: WorkOrder) -> str | None:
    if any(fold_path(each) == fold_path(path) for each in order.removed_files):
        return "is removed by this order, so no reply may write it"
    return None


def _forbidden_violation(path: str, forbidden: tuple[str, ...]) -> str | None:
    """Return how `path` is forbidden, or `None`.

    Folded paths are compared, so that a forbidden file stays untouched on every file system.
    """
    folded = fold_path(path)
    places = {folded, *_folders_of(folded)}
    for each in forbidden:
        pattern = posixpath.normpath(fold_path(each))
        if any(place == pattern or fnmatchcase(place, pattern) for place in places):
            return f"is forbidden by the work order ({each})"
    return None


def _folders_of(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _content_violation(write: FileWrite, files: Files) -> str | None:
    size = _size(write.content)
    # An existing file may be long because only a part of it was written.
    limit = MAX_EDITED_BYTES if _exists(write.path, files) else MAX_WRITE_BYTES
    if size > limit:
        return f"has {size:,} bytes, over the limit of {limit:,}"
    if "\0" in write.content:
        return "contains a NUL: only text can be written"
    try:
        write.content.encode()
    except UnicodeEncodeError:
        return "contains a lone surrogate: only text can be written"
    return None


def _place_violation(path: str, files: Files) -> str | None:
    kind = files.state_of(path).kind
    if kind is FileKind.FILE:
        return None
    if kind is not FileKind.ABSENT:
        return DESCRIPTIONS[kind]
    lookalike = files.lookalike_of(path)
    return f"is the same as {lookalike!r} on some file systems" if lookalike else None


def _stale(proposal: WriteProposal, shown: Mapping[str, FileState], files: Files) -> Iterator[str]:
    for write in proposal.writes:
        current = files.state_of(write.path)
        if write.base_sha256 != current.sha256:
            yield (
                f"{write.path!r}: base_sha256 is {write.base_sha256}, but the file "
                f"{_as_it_is(current)} (sha256 {current.sha256})"
            )
        elif write.path in shown and shown[write.path].kind is not current.kind:
            # An empty file and a missing one have the same hash.
            there = "does not exist" if current.kind is FileKind.ABSENT else "exists, empty,"
            yield f"{write.path!r} {there} now, unlike when it was shown"


def _as_it_is(state: FileState) -> str:
    return "does not exist" if state.kind is FileKind.ABSENT else "has another content"


def _exists(path: str, files: Files) -> bool:
    return files.state_of(path).kind is FileKind.FILE


def _size(content: str) -> int:
    return len(content.encode("utf-8", "surrogatepass"))
