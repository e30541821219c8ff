"""Renders why blocks were refused, and the question for these blocks alone. Pure, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from factory.orders.reply_format import Form
from factory.proposal.edits.blocks import BlockRefusal, form_of, render_target
from factory.proposal.files_format import fence_for
from factory.proposal.instructions import describe_form

MAX_QUESTION_CHARACTERS: Final = 8000
"""The limit of a question, in characters."""
_MOST_REFUSALS: Final = 6
_LONGEST_REASON: Final = 400
_LONGEST_EXCERPT: Final = 600


def render_refusals(refusals: Sequence[BlockRefusal], blocks: int) -> str:
    """Return why blocks of a reply were refused, in a few lines; `blocks` is the number of all."""
    lines = [_first_line(refusals, blocks)]
    lines += [f"- {_reason(each)}{_place(each)}" for each in refusals[:_MOST_REFUSALS]]
    if len(refusals) > _MOST_REFUSALS:
        lines.append(f"and {len(refusals) - _MOST_REFUSALS} more")
    return "\n".join(lines)


def render_question(refusals: Sequence[BlockRefusal], blocks: int) -> str:
    """Return the question for the refused blocks of a reply of so many `blocks`.

    The other blocks are kept: `read_again` takes the answer together with them.
    """
    parts = [_first_line(refusals, blocks)]
    for number, each in enumerate(refusals[:_MOST_REFUSALS], 1):
        parts.append(f"{number}. {_reason(each)}{_excerpt(each)}")
    if len(refusals) > _MOST_REFUSALS:
        parts.append(f"{len(refusals) - _MOST_REFUSALS} more were refused for similar reasons.")
    rest = " The other blocks are kept: do not repeat them." if blocks > len(refusals) else ""
    again = "this block" if len(refusals) == 1 else "these blocks"
    parts.append(f"Write {again} again, corrected, and nothing else.{rest}")
    forms = [form for form in Form if any(form_of(each.block) is form for each in refusals)]
    parts += [describe_form(form) for form in forms]
    return "\n\n".join(parts) + "\n"


def _first_line(refusals: Sequence[BlockRefusal], blocks: int) -> str:
    if blocks == 1:
        which = "The block of your reply"
    elif blocks == len(refusals):
        which = f"All {blocks} blocks of your reply"
    else:
        which = f"{len(refusals)} of the {blocks} blocks of your reply"
    return f"{which} cannot be applied, so no file was changed:"


def _reason(refusal: BlockRefusal) -> str:
    reason = " ".join(refusal.reason.split())
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    return f"{render_target(refusal.block)}: {reason}"


def _place(refusal: BlockRefusal) -> str:
    if not refusal.nearest:
        return ""
    return f" (nearest: line {refusal.line})"


def _excerpt(refusal: BlockRefusal) -> str:
    """Return the nearest lines in a fence, without numbers that could be copied with them."""
    if not refusal.nearest:
        return ""
    text = refusal.nearest
    if len(text) > _LONGEST_EXCERPT:
        text = text[:_LONGEST_EXCERPT].rpartition("\n")[0] + "\n"
    fence = fence_for(text)
    return f"\nNearest to it, from line {refusal.line} of the file on:\n{fence}\n{text}{fence}"
