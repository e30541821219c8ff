"""Knows what an agent is asked to do, and reads back what it left.

The text contains nothing about the run or the machine, so that what came of it is found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factory.orders.documents import (
    MAX_EDITED_BYTES,
    MAX_WRITE_BYTES,
    FileWrite,
    Offer,
    ReplyFormat,
)
from factory.orders.model_choice import AskedModel, ModelChoice, PastAttempt
from factory.preflight import printable
from factory.proposal.prompt import prompt_values, render_conventions
from factory.proposal.prompt_parts import render_hint, render_history
from factory.proposal.reply_formats import fenced_to_stay
from factory.proposal.scope import DESCRIPTIONS, FileKind, FileState
from factory.proposal.shown_code import ShownFile, hashes_of
from factory.workbench.pool import Workbench
from factory.workbench.tree import NotReadable, Tree
from shared.events.events import Emit
from shared.files.atomic_io import write_refused
from shared.files.text_sources import fill
from shared.languages.appended_tests import files_of_tests
from shared.projects.conventions import Conventions
from shared.settings.settings import AgentSettings
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes
from shared.work_order.work_order import Interface, WorkOrder


@dataclass(frozen=True, slots=True)
class AgentTask:
    """Hold an order for an agent, on one attempt.

    The workspace of `bench` holds the baseline, whose tree is `tree`, without the files that the
    order removes. `shown` are the files as they are there, and `placed` the plan's tests. Records
    go to `folder`. `asked` is the model that its calls get.
    """

    order: WorkOrder
    attempt: int
    tree: str
    bench: Workbench
    folder: Path
    shown: tuple[ShownFile, ...]
    placed: tuple[FileWrite, ...]
    verification: tuple[str, ...]
    known: tuple[Interface, ...]
    conventions: Conventions | None
    hint: str
    past: tuple[PastAttempt, ...]
    asked: AskedModel
    models: ModelChoice
    bounds: AgentSettings
    emit: Emit
    is_cancelled: Callable[[], bool]

    @property
    def tests(self) -> tuple[FileWrite, ...]:
        """Return the tests that are in place while the agent works.

        A test in a file of code is not: it is added to what the agent makes of the file.
        """
        apart = files_of_tests(self.order)
        return tuple(each for each in self.placed if each.path in apart)

    @property
    def commands(self) -> tuple[str, ...]:
        return (*self.verification, *self.order.acceptance_commands)


CHECK: Final = "/run/llmch/check"
"""The program by which an agent runs the commands of its order as they are run afterwards."""

_TEMPLATE: Final = """\
You make one small change to the repository in the current folder. When you have ended, a program \
takes the files that you may write as you left them, runs the commands of the task on them, and \
commits them only if every command succeeds.

# Your task: {{TITLE}} ({{ID}})

{{INTENT}}
{{NOTES}}{{INTERFACES}}
After your change these commands run in the root of the repository, without a shell. Each must \
exit with 0:
{{COMMANDS}}

`sh {{CHECK}}` runs all of them as they are run then, one after the other up to the first that \
fails. There is no network. Git can be read and not written; do not commit.
{{FORBIDDEN}}
Write only {{WHICH}}; whatever else you change, make, remove or set the mode of is dropped:
{{ALLOWED}}
{{PAST}}
The repository is the tree {{TREE}} of git.
"""

_HISTORY_CHARACTERS: Final = 24_000


def render_task(task: AgentTask) -> str:
    """Return the text of a task, after the failed attempts before it."""
    order, shown = task.order, task.shown
    offer = Offer(ReplyFormat.EDITS)
    values = prompt_values(order, (), task.verification, offer, task.known)
    values |= {"ALLOWED": _allowed(task), "CHECK": CHECK, "TREE": task.tree}
    past = [f"\n{render_hint(task.hint)}\n"] if task.hint else []
    if said := render_conventions(task.conventions, ()):
        past.append(f"\n{said.rstrip()}\n")
    if task.past:
        history = render_history(task.past, shown, offer.format, _HISTORY_CHARACTERS)
        past.append("\n" + history.replace("the files above are", "the files are", 1))
    return fill(_TEMPLATE, values | {"PAST": "".join(past)})


def _allowed(task: AgentTask) -> str:
    there = {each.path for each in task.shown if each.state.kind is FileKind.FILE}
    paths = task.order.allowed_files
    return "\n".join(f"- {each}" + ("" if each in there else " (new)") for each in paths)


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
    """Return how a reply writes `data` to a file, "" if it holds that, or why it is not taken."""
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
    stays = fenced_to_stay(path, content)
    return FileWrite(path=path, base_sha256=before.sha256, content=stays)


def _is(tree: Tree, path: str, content: bytes) -> bool:
    try:
        return tree.read(path, len(content) + 1) == content
    except NotReadable:
        return False
