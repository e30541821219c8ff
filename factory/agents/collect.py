"""Reads back what an agent left: the files that it may write, and the names of all else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from factory.agents.agent_task import AgentTask
from factory.orders.documents import MAX_EDITED_BYTES, MAX_WRITE_BYTES, FileWrite
from factory.preflight import printable
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState
from factory.proposal.shown_code import hashes_of
from factory.workbench.tree import NotReadable, Tree
from shared.files.atomic_io import write_refused
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes

_MOST_NAMED: Final = 100
_NOTHING: Final = "Your turn has ended, and no file that you may write has changed. Write them now:"
ABSENT: Final = FileState(FileKind.ABSENT, EMPTY_SHA256)


@dataclass(frozen=True, slots=True)
class Collected:
    """Hold what an agent proposes, what it changed besides, and why a file was not taken."""

    writes: tuple[FileWrite, ...]
    dropped: tuple[str, ...]
    notes: tuple[str, ...]


def prepare(task: AgentTask) -> None:
    """Put the plan's tests in place."""
    workspace = task.bench.workspace
    for each in task.tests:
        try:
            workspace.tree.write(each.path, each.content.encode())
        except OSError as error:
            raise write_refused(workspace.root / each.path, error) from error


def collect(task: AgentTask) -> Collected:
    """Return what the agent left in the workspace, and put the workspace back as it was.

    No process of the agent may be running. Raises `CommandFailed` if disk or git refuse.
    """
    workspace, order = task.bench.workspace, task.order
    tree = workspace.tree
    placed = {each.path: each.content.encode() for each in task.tests}
    writes, notes = _changed(task)
    tests = [path for path, content in placed.items() if not _is(tree, path, content)]
    known = {*placed, *order.removed_files, *(each.path for each in writes)}
    others = (*tests, *workspace.take_back(known))
    task.bench.clear()
    notes += [f"{path} is a test of the plan and was changed: it is put back" for path in tests]
    if (left := len(others) - _MOST_NAMED) > 0:
        notes.append(f"{left:,} more files were dropped than are named")
    return Collected(tuple(writes), tuple(map(printable, others[:_MOST_NAMED])), tuple(notes))


def follow_up(task: AgentTask) -> str:
    """Return what to say to an agent that left nothing to judge; empty if it left something."""
    writes, notes = _changed(task)
    if writes:
        return ""
    return "\n".join((_NOTHING, *(f"- {each}" for each in task.order.allowed_files), *notes))


def _changed(task: AgentTask) -> tuple[list[FileWrite], list[str]]:
    """Return the writes of the allowed files, and why those that are not taken are not."""
    tree, before = task.bench.workspace.tree, hashes_of(task.shown)
    placed = {each.path for each in task.tests}
    writes, notes = [], []
    for path in task.order.allowed_files:
        if path in placed:
            continue
        found = read_back(tree, path, before.get(path, ABSENT))
        if isinstance(found, FileWrite):
            writes.append(found)
        elif found:
            notes.append(f"{path} {found}")
    return writes, notes


def read_back(tree: Tree, path: str, before: FileState) -> FileWrite | str:
    """Return the write of a changed file, "" for one that is as it was, or why it is not taken."""
    try:
        data = tree.read(path, limit_of(before) + 1)
    except NotReadable as refused:
        if refused.kind is FileKind.ABSENT:
            return "was removed, which no proposal can do" if before.kind is FileKind.FILE else ""
        return f"{DESCRIPTIONS[refused.kind]}, and only a file can be proposed"
    return write_of(path, data, before)


def limit_of(before: FileState) -> int:
    """Return how many bytes may be proposed for a file."""
    return MAX_EDITED_BYTES if before.kind is FileKind.FILE else MAX_WRITE_BYTES


def write_of(path: str, data: bytes, before: FileState) -> FileWrite | str:
    """Return the write of `data` to a file, "" if it holds that, or why it is not taken."""
    limit = limit_of(before)
    if len(data) > limit:
        return f"has over {limit:,} bytes"
    if before == FileState(FileKind.FILE, sha256_bytes(data)):
        return ""
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8 text"
    if "\0" in content:
        return "has a NUL, so it is not text"
    return FileWrite(path=path, base_sha256=before.sha256, content=content)


def _is(tree: Tree, path: str, content: bytes) -> bool:
    try:
        return tree.read(path, len(content) + 1) == content
    except NotReadable:
        return False
