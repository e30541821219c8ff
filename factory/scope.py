"""May this proposal be applied? Pure: the state of the files is handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from factory.schemas import FileWrite, Stage, WriteProposal
from shared.paths import PathProblem, check_path, fold_path, is_git_path
from shared.schemas import MAX_PROPOSAL_BYTES, MAX_WRITE_BYTES, WorkOrder


class FileKind(StrEnum):
    """What stands at a path of the workspace."""

    ABSENT = "absent"
    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    OTHER = "other"
    BEHIND_LINK = "behind a link"
    BEHIND_FILE = "behind a file"


@dataclass(frozen=True, slots=True)
class FileState:
    """What stands at a path, and the hash of its bytes (of no bytes where it is absent)."""

    kind: FileKind
    sha256: str


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a proposal may not be applied."""

    stage: Stage
    message: str


def check_proposal(
    order: WorkOrder,
    proposal: WriteProposal,
    shown: Mapping[str, FileState],
    state_of: Callable[[str], FileState],
) -> tuple[Violation, ...]:
    """Return all violations of the first kind found; none means the proposal may be applied.

    `shown` is what the prompt told of the files, `state_of` says what is there now. Scope comes
    before freshness: a stale hash of a file that may not be written is no news.
    """
    scope = tuple(
        Violation(Stage.WRITE_SCOPE_VIOLATION, message)
        for message in _out_of_scope(order, proposal, state_of)
    )
    if scope:
        return scope
    return tuple(
        Violation(Stage.STALE_CONTEXT, message) for message in _stale(proposal, shown, state_of)
    )


def _out_of_scope(
    order: WorkOrder, proposal: WriteProposal, state_of: Callable[[str], FileState]
) -> Iterator[str]:
    allowed = frozenset(order.allowed_files)
    seen: set[str] = set()
    for write in proposal.writes:
        problem = _path_violation(write.path, allowed, order.forbidden)
        if problem is None and fold_path(write.path) in seen:
            problem = "is proposed twice"
        seen.add(fold_path(write.path))
        if problem is None:
            problem = _content_violation(write) or _place_violation(state_of(write.path).kind)
        if problem:
            yield f"{write.path!r} {problem}"
    total = sum(_size(write.content) for write in proposal.writes)
    if total > MAX_PROPOSAL_BYTES:
        yield f"the files have {total:,} bytes together, over the limit of {MAX_PROPOSAL_BYTES:,}"


def _path_violation(path: str, allowed: frozenset[str], forbidden: tuple[str, ...]) -> str | None:
    try:
        normalised = check_path(path)
    except PathProblem as problem:
        return f"is no path inside the repo: {problem}"
    if normalised != path:
        return f"must be written as {normalised!r}"
    if is_git_path(path):
        return "is git's own"
    if any(path == each or path.startswith(each.rstrip("/") + "/") for each in forbidden):
        return "is forbidden by the work order"
    if path not in allowed:
        return "is not in allowed_files"
    return None


def _content_violation(write: FileWrite) -> str | None:
    size = _size(write.content)
    if size > MAX_WRITE_BYTES:
        return f"has {size:,} bytes, over the limit of {MAX_WRITE_BYTES:,}"
    if "\0" in write.content:
        return "contains a NUL: only text can be written"
    try:
        write.content.encode()
    except UnicodeEncodeError:
        return "contains a lone surrogate: only text can be written"
    return None


def _place_violation(kind: FileKind) -> str | None:
    match kind:
        case FileKind.ABSENT | FileKind.FILE:
            return None
        case FileKind.LINK:
            return "is a symbolic link"
        case FileKind.FOLDER:
            return "is a folder"
        case FileKind.OTHER:
            return "is no regular file"
        case FileKind.BEHIND_LINK:
            return "lies behind a symbolic link"
        case FileKind.BEHIND_FILE:
            return "lies below something that is no folder"


def _stale(
    proposal: WriteProposal,
    shown: Mapping[str, FileState],
    state_of: Callable[[str], FileState],
) -> Iterator[str]:
    for write in proposal.writes:
        current = state_of(write.path)
        if write.base_sha256 != current.sha256:
            yield (
                f"{write.path!r}: base_sha256 is {write.base_sha256}, but the file "
                f"{_as_it_is(current)} (sha256 {current.sha256})"
            )
        elif write.path in shown and shown[write.path].kind is not current.kind:
            # An empty file and a missing one have the same hash.
            yield f"{write.path!r} {_as_it_is(current)} now, unlike when it was shown"


def _as_it_is(state: FileState) -> str:
    return "does not exist" if state.kind is FileKind.ABSENT else "has another content"


def _size(content: str) -> int:
    return len(content.encode("utf-8", "surrogatepass"))
