"""Renders the factory's prompts. Pure: equal input gives equal text.

A prompt contains nothing about the run or the machine, so that a recorded reply is found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

from factory.orders.past_attempt import PastAttempt
from factory.orders.reply_format import Offer, ReplyFormat
from factory.orders.stages import Stage
from factory.proposal.files_format import NO_FINAL_NEWLINE, fence_for
from factory.proposal.hint import render_hint
from factory.proposal.history import render_history, room_for_history
from factory.proposal.instructions import render_format
from factory.proposal.large_files import render_parts
from factory.proposal.removed import REMOVED, name_removed
from factory.proposal.scope import FileKind
from factory.proposal.shown import ShownFile
from shared.files.template import fill
from shared.work_order.schemas import Interface, WorkOrder

_PLACED = (
    "These tests are put in place before the commands run, exactly as they are shown. They are not "
    "yours to write, and a reply that writes one is refused:"
)


def render_prompt(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    verification: Sequence[str],
    offer: Offer,
    known: Sequence[Interface] = (),
    past: Sequence[PastAttempt] = (),
    note: str = "",
    hint: str = "",
) -> str:
    """Return the prompt of an order, after the failed attempts in `past`.

    `known` are interfaces that earlier orders declared for files that this order needs. `note` says
    why the reply before could not be used, if this is asked again within an attempt. `hint` is what
    the person who runs the order says.
    """
    values = _values(order, shown, verification, offer, known)
    advice = f"\n{render_hint(hint)}\n" if hint else ""
    first = fill(_template(), values | {"PAST": advice})
    if not past and not note:
        return first
    history = render_history(past, shown, offer.format, room_for_history(first, note))
    said = advice + (f"\n{history}" if history else "")
    return fill(_template(), values | {"PAST": said + (f"\n{note}\n" if note else "")})


def _values(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    verification: Sequence[str],
    offer: Offer,
    known: Sequence[Interface],
) -> dict[str, str]:
    commands = (*verification, *order.acceptance_commands)
    placed = [each.path for each in order.acceptance_files]
    return {
        "FILES": _render_files(order, shown, offer.format),
        "ID": order.id,
        "TITLE": order.title,
        "INTENT": order.intent,
        "NOTES": f"\n{order.notes}\n" if order.notes else "",
        "INTERFACES": _render_interfaces(order, known),
        "OPENING": _render_opening(order, shown) if offer.format is ReplyFormat.FILES else "",
        "WHICH": "this file" if len(order.allowed_files) == 1 else "these files",
        "ALLOWED": _render_allowed(order, shown),
        "FORBIDDEN": _render_removed(order.removed_files) + _render_forbidden(order.forbidden),
        "COMMANDS": _bullets(commands) + (f"\n\n{_PLACED}\n{_bullets(placed)}" if placed else ""),
        "FORMAT": render_format(offer.format, offer.forms),
    }


def reminder(stage: Stage, order: WorkOrder) -> str:
    """Return what the next attempt should keep in mind after a failure at `stage`.

    The reminder is valid for either reply format, because the next attempt may use another format.
    """
    match stage:
        case Stage.WRITE_SCOPE_VIOLATION:
            return f"Write only: {', '.join(order.allowed_files)}."
        case Stage.STALE_CONTEXT:
            return "Start from the files as they are now, not from an earlier state of them."
        case Stage.LLM_OUTPUT_INVALID:
            return "Reply in exactly the format that is asked for, and nothing else."
        case Stage.VERIFY_FAILED | Stage.ACCEPTANCE_FAILED:
            return "The commands cannot be changed: change the files so that all commands succeed."
        case Stage.CONTRACT_VIOLATED:
            return "Keep every declared name and signature exactly as the work order gives it."
        case Stage.REPEATED:
            return "Give other files than before."
        case Stage.EXCEPTION | Stage.PREFLIGHT | Stage.WRITE_FAILED | Stage.ENVIRONMENT:
            return ""


@cache
def _template() -> str:
    return resources.files("factory.proposal").joinpath("FACTORY_PROMPT.md").read_text("utf-8")


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _render_files(order: WorkOrder, shown: Sequence[ShownFile], asked: ReplyFormat) -> str:
    if not shown:
        return ""
    writable = frozenset(order.allowed_files)
    # The format `files` needs no hashes, so it shows none that could be copied wrongly.
    hashes = asked is ReplyFormat.JSON
    placed = frozenset(each.path for each in order.acceptance_files)
    parts = [
        _render_file(each, _role(each.path, writable, placed), hashes and each.path not in placed)
        for each in shown
    ]
    return "# Files as they are now\n\n" + "\n".join(parts) + "\n"


def _role(path: str, writable: frozenset[str], placed: frozenset[str]) -> str:
    if path in placed:
        return " (a test that your change has to pass, read only)"
    return "" if path in writable else " (read only)"


def _render_file(file: ShownFile, role: str, with_hash: bool) -> str:
    base = f"base_sha256: {file.state.sha256}\n" if with_hash else ""
    head = f"## {file.path}{role}\n{base}"
    if file.state.kind is FileKind.ABSENT:
        return f"{head}This file does not exist yet.\n"
    if not file.text:
        return f"{head}This file is empty.\n"
    if file.parts is not None:
        return head + render_parts(file)
    fence = fence_for(file.text)
    if file.text.endswith("\n"):
        return f"{head}{fence}\n{file.text}{fence}\n"
    return f"{head}{fence}\n{file.text}\n{fence}\n{NO_FINAL_NEWLINE}\n"


def _render_interfaces(order: WorkOrder, known: Sequence[Interface]) -> str:
    staying = [each for each in known if each.path in order.allowed_files]
    others = [each for each in known if each not in staying]
    but = f", but for {', '.join(order.changes)}" if order.changes else ""
    parts: list[str] = []
    for heading, interfaces in (
        # These come first: a model that writes a whole file easily leaves existing names out.
        (f"These names are there already. They have to stay{but}:", staying),
        ("These interfaces are fixed. Keep every name and signature exactly:", order.interfaces),
        ("These are there, and you can rely on them:", others),
    ):
        if interfaces:
            parts += [f"{heading}\n", *map(_render_stub, interfaces)]
    return "\n" + "\n".join(parts) if parts else ""


def _render_stub(interface: Interface) -> str:
    fence = fence_for(interface.stub)
    stub = interface.stub.rstrip("\n")
    return f"## Interface of {interface.path}\n{fence}\n{stub}\n{fence}\n"


def _render_forbidden(paths: Sequence[str]) -> str:
    return f"\nThese must stay untouched:\n{_bullets(paths)}\n" if paths else ""


def _render_removed(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    return f"\n{REMOVED} Nothing may use them any more, and no reply may write them:\n" + (
        f"{_bullets(name_removed(paths))}\n"
    )


def _render_allowed(order: WorkOrder, shown: Sequence[ShownFile]) -> str:
    wanted = _files_to_create(order, shown)
    return _bullets(
        [f"{path} (new: write it)" if path in wanted else path for path in order.allowed_files]
    )


def _files_to_create(order: WorkOrder, shown: Sequence[ShownFile]) -> frozenset[str]:
    absent = frozenset(file.path for file in shown if file.state.kind is FileKind.ABSENT)
    return absent.intersection(condition.path for condition in order.postconditions)


def _render_opening(order: WorkOrder, shown: Sequence[ShownFile]) -> str:
    """Return the required beginning of the reply: without it, small models repeat what they saw."""
    first = order.allowed_files[0]
    certain = len(order.allowed_files) == 1 or first in _files_to_create(order, shown)
    unless = "" if certain else ", unless that file stays as it is"
    exists = any(file.path in order.allowed_files and file.text for file in shown)
    keep = "A block replaces its whole file: also give all the lines that stay.\n" if exists else ""
    opening = f"Summary: {' '.join(order.title.split())}\n\n```{first}"
    return f"{keep}\nYour reply begins like this{unless}:\n\n{opening}"
