"""The ways to ask first that are measured against each other. Each has a name and is pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.model.tasks import Task
from factory.orders.documents import Offer, ReplyFormat
from factory.proposal.prompt import has_short_prompt, render_prompt, render_short_prompt
from factory.proposal.reply_formats import fence_for
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import Focus, ShownFile, focus_of
from shared.work_order.parse_order import EMPTY_SHA256, parse_document, sha256_bytes
from shared.work_order.work_order import WorkOrder

# What verifies a repo without a script of its own, as an order's prompt lists it.
_VERIFICATION = (
    "python -m compileall -q .",
    "python -m pip --version",
    "python -m pytest -q",
)


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    """Hold one way to ask. `completes` says that a reply continues the stub.

    Where it does, the stub's imports count as given: the model was asked for the function alone.
    With `by_focus`, a task that has a focus is asked for this definition.
    """

    render: Callable[[Task], str]
    completes: bool = False
    by_focus: bool = False


def shown_files(task: Task) -> tuple[ShownFile, ...]:
    """Return the files of the order as the factory shows them."""
    return tuple(_shown(path, task) for path in task.order["context_files"])


def _shown(path: str, task: Task) -> ShownFile:
    text = task.files.get(path)
    if text is None:
        return ShownFile(path, FileState(FileKind.ABSENT, EMPTY_SHA256), "")
    return ShownFile(path, FileState(FileKind.FILE, sha256_bytes(text.encode())), text)


def focus_of_task(task: Task) -> Focus | None:
    """Return the definition that the factory asks a small model for, if it asks for one alone."""
    return focus_of(parse_document(WorkOrder, task.order), shown_files(task))


def _factory(task: Task) -> str:
    """Return what the factory asks a small model first."""
    order, shown, focus = (
        parse_document(WorkOrder, task.order),
        shown_files(task),
        focus_of_task(task),
    )
    if focus or has_short_prompt(order, shown):
        return render_short_prompt(order, shown, focus=focus, with_commands=False)
    return _full(task)


def _whole(task: Task) -> str:
    """Return the short prompt for the whole file, whatever its size and what the order names."""
    order = parse_document(WorkOrder, task.order)
    return render_short_prompt(order, shown_files(task), with_commands=False)


def _full(task: Task) -> str:
    """Return what the factory asks where an order has more than one short file."""
    order = parse_document(WorkOrder, task.order)
    return render_prompt(order, shown_files(task), _VERIFICATION, Offer(ReplyFormat.FILES))


def _fenced(text: str, header: str = "") -> str:
    fence = fence_for(text)
    return f"{fence}{header}\n{text.rstrip()}\n{fence}"


def _plain(task: Task) -> str:
    return (
        "Complete this Python function. Reply with the whole function in one fenced code block.\n\n"
        f"{_fenced(task.stub, 'python')}\n"
    )


def _plain_header(task: Task) -> str:
    return (
        "Complete this Python function. Reply with the whole function in one fenced code block "
        f"that opens with ```{task.path}\n\n{_fenced(task.stub, 'python')}\n"
    )


def _short(task: Task) -> str:
    return f"{_told(task)}\n\n{_wanted(task)}Reply with the whole file in one fenced code block.\n"


def _bare(task: Task) -> str:
    """Return the short prompt without the commands: they tempt a model to write tests as well."""
    return f"{_told(task)}\n\nReply with the whole file in one fenced code block.\n"


def _bare_raw(task: Task) -> str:
    """Return the bare prompt with the notes as they are, in no fence."""
    notes = str(task.order.get("notes", ""))
    return _bare(task).replace(_fenced(notes, "python"), notes) if notes else _bare(task)


def _short_header(task: Task) -> str:
    return (
        f"{_told(task)}\n\n{_wanted(task)}Reply with one line that says what the change does, then "
        f"the whole file in one fenced block that opens with ```{task.path}\n"
    )


def _short_opening(task: Task) -> str:
    return (
        f"{_told(task)}\n\n{_wanted(task)}Your reply begins like this:\n\n"
        f"Summary: {task.order['title']}\n\n```{task.path}\n"
    )


def _reply_first(task: Task) -> str:
    return (
        f"Write the whole file {task.path}. Reply with it in one fenced code block.\n\n"
        f"{_told(task)}\n\n{_wanted(task)}".rstrip()
        + "\n"
    )


def _told(task: Task) -> str:
    """Return the task in few words: what to do, and the file or the notes in a fence."""
    order, text = task.order, task.files.get(task.path)
    parts = [str(order["intent"])]
    if order.get("notes"):
        parts.append(_fenced(str(order["notes"]), "python"))
    if text:
        parts += [f"This is {task.path}:", _fenced(text, "python")]
    return "\n\n".join(parts)


def _wanted(task: Task) -> str:
    commands = "\n".join(f"- {each}" for each in task.order["acceptance_commands"])
    return f"These commands must succeed afterwards:\n{commands}\n\n"


FIRST_PROMPTS: Mapping[str, FirstPrompt] = {
    "factory": FirstPrompt(_factory, by_focus=True),
    "whole": FirstPrompt(_whole),
    "plain": FirstPrompt(_plain, completes=True),
    "plain-header": FirstPrompt(_plain_header, completes=True),
    "full": FirstPrompt(_full),
    "short": FirstPrompt(_short),
    "bare": FirstPrompt(_bare),
    "bare-raw": FirstPrompt(_bare_raw),
    "short-header": FirstPrompt(_short_header),
    "short-opening": FirstPrompt(_short_opening),
    "reply-first": FirstPrompt(_reply_first),
}
