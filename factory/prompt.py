"""Renders what the factory asks a model. Pure: equal input gives equal text.

Nothing of the run or the machine goes in, so that a recorded reply is found again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from factory.schemas import FailureBrief, Stage
from factory.scope import FileKind, FileState
from shared.schemas import WorkOrder
from shared.template import fill

_FENCES = re.compile(r"^\s*(`{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file as the model sees it: whole, or known to be absent."""

    path: str
    state: FileState
    text: str


JSON_FORMAT = """\
Reply with one JSON object and nothing else:

{"summary": "what the change does, in one sentence", "writes": [{"path": "the/file.py", \
"base_sha256": "the hash shown with that file", "content": "the whole new content of the file"}]}

- Give each file that you write whole, from its first line to its last; leave out files that stay \
as they are.
- Copy base_sha256 from above: it says which content you replace.
- Inside JSON strings, write line ends as \\n, quotes as \\" and backslashes as \\\\."""


def render_prompt(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    verification: Sequence[str],
    failure: FailureBrief | None,
) -> str:
    """Return the prompt of one attempt; `failure` is what became of the one before."""
    commands = (*verification, *order.acceptance_commands)
    return fill(
        _template(),
        {
            "FILES": _render_files(order, shown),
            "ID": order.id,
            "TITLE": order.title,
            "INTENT": order.intent,
            "NOTES": f"\n{order.notes}\n" if order.notes else "",
            "ALLOWED": _bullets(order.allowed_files),
            "FORBIDDEN": _render_forbidden(order.forbidden),
            "COMMANDS": _bullets(commands),
            "FAILURE": _render_failure(failure) if failure else "",
            "FORMAT": JSON_FORMAT,
        },
    )


def reminder(stage: Stage, order: WorkOrder) -> str:
    """Return what a next attempt should keep in mind after a failure at `stage`."""
    match stage:
        case Stage.WRITE_SCOPE_VIOLATION:
            return f"Write only: {', '.join(order.allowed_files)}."
        case Stage.STALE_CONTEXT:
            return "Copy each base_sha256 from the file list of this prompt."
        case Stage.LLM_OUTPUT_INVALID:
            return "Reply in exactly the format given below, and nothing else."
        case Stage.VERIFY_FAILED | Stage.ACCEPTANCE_FAILED:
            return "The commands cannot be changed: change the files so that all commands succeed."
        case Stage.CONTRACT_VIOLATED:
            return "Keep every declared name and signature exactly as the work order gives it."
        case Stage.EXCEPTION | Stage.PREFLIGHT | Stage.WRITE_FAILED:
            return ""


def fence_for(text: str) -> str:
    """Return a fence of backticks longer than any that begins a line of `text`."""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    return "`" * max(3, longest + 1)


@cache
def _template() -> str:
    return resources.files("factory").joinpath("FACTORY_PROMPT.md").read_text("utf-8")


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _render_files(order: WorkOrder, shown: Sequence[ShownFile]) -> str:
    if not shown:
        return ""
    writable = frozenset(order.allowed_files)
    parts = [_render_file(each, each.path in writable) for each in shown]
    return "# Files as they are now\n\n" + "\n".join(parts)


def _render_file(file: ShownFile, writable: bool) -> str:
    role = "" if writable else " (read only)"
    head = f"## {file.path}{role}\nbase_sha256: {file.state.sha256}\n"
    if file.state.kind is FileKind.ABSENT:
        return f"{head}This file does not exist yet.\n"
    if not file.text:
        return f"{head}This file is empty.\n"
    fence = fence_for(file.text)
    end = "" if file.text.endswith("\n") else "\n(no newline at the end of the file)"
    newline = "" if file.text.endswith("\n") else "\n"
    return f"{head}{fence}\n{file.text}{newline}{fence}{end}\n"


def _render_forbidden(paths: Sequence[str]) -> str:
    return f"\nThese must stay untouched:\n{_bullets(paths)}\n" if paths else ""


def _render_failure(brief: FailureBrief) -> str:
    lines = [
        "",
        "# Your previous attempt failed",
        "",
        "Its files were taken back: what is shown above is the state to start from.",
        f"Stage: {brief.stage}",
    ]
    if brief.command:
        lines.append(f"Command: {brief.command}")
    if brief.exit_code is not None:
        lines.append(f"Exit code: {brief.exit_code}")
    fence = fence_for(brief.primary_error_excerpt)
    lines += [fence, brief.primary_error_excerpt, fence]
    if brief.constraints_reminder:
        lines.append(brief.constraints_reminder)
    return "\n".join(lines) + "\n"


def hashes_of(shown: Sequence[ShownFile]) -> Mapping[str, FileState]:
    """Return what the prompt told of each file."""
    return {file.path: file.state for file in shown}
