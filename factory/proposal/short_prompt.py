"""Renders the prompt of an order that writes one short file, or changes one definition. Pure.

A small model follows a short prompt best: docs/local-models.md has the figures. It is told neither
a format with examples, whose paths it would copy, nor how to name the one file that it may write.
Of a file of which it has to change one definition, it sees this definition alone: shown the file,
it copies the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from factory.orders.past_attempt import PastAttempt
from factory.orders.reply_format import WHOLE_UP_TO_LINES, ReplyFormat
from factory.proposal.files_format import fence_for
from factory.proposal.focus import Focus
from factory.proposal.hint import render_hint
from factory.proposal.history import render_history, room_for_history
from factory.proposal.removed import REMOVED, name_removed
from factory.proposal.shown import ShownFile
from shared.work_order.schemas import Interface, WorkOrder

_WHOLE_FILE = "Reply with the whole file in one fenced code block."
_DEFINITION = "Reply with the whole changed {kind} in one fenced code block."


def has_short_prompt(order: WorkOrder, shown: Sequence[ShownFile]) -> bool:
    """Return whether an order is simple enough: one short file to write, and no other to read."""
    placed = {each.path for each in order.acceptance_files}
    listed = set(order.context_files) <= {*order.allowed_files, *placed}
    single = len(order.allowed_files) == 1 and listed
    return single and all(
        each.parts is None and len(each.text.splitlines()) <= WHOLE_UP_TO_LINES for each in shown
    )


def render_short_prompt(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    known: Sequence[Interface] = (),
    past: Sequence[PastAttempt] = (),
    note: str = "",
    hint: str = "",
    *,
    focus: Focus | None = None,
    with_commands: bool = True,
) -> str:
    """Return the prompt of an order that `has_short_prompt`, after the failed attempts in `past`.

    `note` says why the reply before could not be used, if this is asked again within an attempt.
    `hint` is what the person who runs the order says. With a `focus` of the order, this definition
    is shown and asked for, whatever the size of its file. The acceptance commands tempt a small
    model to write tests as well; `with_commands` says whether they are told.
    """
    parts = _told(order, shown, known, focus, with_commands)
    told = "\n\n".join([*parts, render_hint(hint)] if hint else parts)
    history = render_history(past, shown, ReplyFormat.FILES, room_for_history(told, note))
    all_parts = (told, history.rstrip("\n"), note, _how_to_reply(focus))
    return "\n\n".join(part for part in all_parts if part) + "\n"


def _told(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    known: Sequence[Interface],
    focus: Focus | None,
    with_commands: bool,
) -> list[str]:
    (path,) = order.allowed_files
    text = next((each.text for each in shown if each.path == path), "")
    # The code comes first: a small model that reads the task before the code copies more of it.
    parts = [_fenced(focus.code, focus.language.lower())] if focus else []
    parts.append(order.intent)
    if order.notes:
        parts.append(order.notes)
    # What the rest of the file has to define, a model that writes one definition cannot change.
    declared = order.interfaces if focus else (*order.interfaces, *known)
    own = [each.stub for each in declared if each.path == path]
    others = [each for each in known if each.path != path]
    if own:
        parts += [f"{path} has to define, exactly so:", *map(_fenced, dict.fromkeys(own))]
    for each in others:
        parts += [f"{each.path} is there, and you can rely on it:", _fenced(each.stub)]
    if text and not focus:
        parts += [f"This is {path}:", _fenced(text)]
    elif path not in order.intent and not focus:
        parts.append(f"The file is {path}, and it does not exist yet.")
    if order.removed_files:
        parts.append(f"{REMOVED} Use none of them: {', '.join(name_removed(order.removed_files))}")
    for test in order.acceptance_files:
        parts += [f"{test.path} is there, and has to pass:", _fenced(test.content)]
    if with_commands:
        commands = "\n".join(f"- {each}" for each in order.acceptance_commands)
        parts.append(f"These commands must succeed afterwards:\n{commands}")
    return parts


def _how_to_reply(focus: Focus | None) -> str:
    if focus is None:
        return _WHOLE_FILE
    return _DEFINITION.format(kind="class" if focus.holds_others else "function")


def _fenced(text: str, info: str = "") -> str:
    fence, body = fence_for(text), text.rstrip("\n")
    return f"{fence}{info}\n{body}\n{fence}"
