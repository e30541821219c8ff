"""Renders the shortest prompt that an order of one file can have. Pure.

It is asked after two replies that were of no use: a small model that loses itself in the full
instructions often writes the code when it is plainly asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from factory.orders.reply_format import FALL_BACK_UP_TO_LINES
from factory.proposal.files_format import fence_for
from factory.proposal.shown import ShownFile
from shared.work_order.schemas import Interface, WorkOrder


def has_plain_prompt(order: WorkOrder, shown: Sequence[ShownFile]) -> bool:
    """Return whether an order is simple enough: one file to write, shown whole, none to read."""
    single = len(order.allowed_files) == 1 and set(order.context_files) <= set(order.allowed_files)
    return single and all(
        each.parts is None and len(each.text.splitlines()) <= FALL_BACK_UP_TO_LINES
        for each in shown
    )


def render_plain_prompt(
    order: WorkOrder, shown: Sequence[ShownFile], known: Sequence[Interface], note: str
) -> str:
    """Return the prompt of an order that `has_plain_prompt`; it ends with `note`, if any."""
    (path,) = order.allowed_files
    text = next((each.text for each in shown if each.path == path), "")
    verb = "Change" if text else "Write"
    parts = [f"{verb} the file {path}. {order.intent}", order.notes]
    stubs = [each.stub for each in (*order.interfaces, *known) if each.path == path]
    if stubs:
        parts += ["It has to define:", *map(_fenced, stubs)]
    if text:
        parts += ["The file as it is now:", _fenced(text)]
    parts += [
        "These commands have to succeed afterwards:\n" + "\n".join(order.acceptance_commands),
        note,
        f"Reply with one line that says what the change does, then the whole file {path}, every "
        f"function with its body, in one fenced code block that opens with ```{path}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _fenced(text: str) -> str:
    fence, body = fence_for(text), text.rstrip("\n")
    return f"{fence}\n{body}\n{fence}"
