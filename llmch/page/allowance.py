"""Decides how much of long texts the page shows, and says in words what it leaves out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from llmch.page.visible import printed, visible
from llmch.run_view.model.attempts import CallView, Excerpt

MEGABYTE = 1_000_000
_LONGEST_NAME = 600  # characters
_SHORTEST_CALL = 400  # characters of a prompt; less of it says nothing


@dataclass(frozen=True, slots=True)
class Allowance:
    """Hold how many characters are shown of a patch, a stream of output, a text and a command.

    `call` is for a prompt and for a reply; with 0, their files are named and nothing is shown.
    """

    patch: int = 60_000
    output: int = 4_000
    text: int = 8_000
    name: int = 2_000
    call: int = 12_000

    def smaller(self) -> Allowance:
        """Return half of it."""
        return Allowance(
            self.patch // 2, self.output // 2, self.text // 2, self.name // 2, self.call // 2
        )

    @property
    def is_least(self) -> bool:
        """Return whether less would show nothing of use."""
        return self.patch < 500


def largest_page(orders: int) -> int:
    """Return how many bytes a page may have: 2 MB up to 50 orders, and more with more orders."""
    return 2 * MEGABYTE * max(50, orders) // 50


def first_allowance(calls: Sequence[CallView], orders: int) -> Allowance:
    """Return what a page of so many orders begins with.

    Prompts and replies get a fifth of the page together. They are long, repeat the files and what
    was shown of them, and give way to what was changed and judged.
    """
    sizes = [_length(each) for call in calls for each in (call.prompt, call.reply, call.reasoning)]
    room = largest_page(orders) // 5
    allowance = Allowance()
    most = allowance.call
    while most >= _SHORTEST_CALL and sum(min(each, most) for each in sizes) > room:
        most //= 2
    return replace(allowance, call=most if most >= _SHORTEST_CALL else 0)


def _length(excerpt: Excerpt | None) -> int:
    return len(excerpt.head) + len(excerpt.tail) if excerpt else 0


@dataclass(frozen=True, slots=True)
class Cut:
    """Hold the head and the tail of a text; `left_out` counts the characters between them."""

    head: Markup
    tail: Markup
    left_out: int


def cut(text: str, most: int) -> Cut:
    """Return a text that a command or a model wrote, cut in the middle where it is too long."""
    text = printed(text)
    if len(text) <= most:
        return Cut(escape(text), Markup(), 0)
    head = most * 2 // 3
    tail = escape(text[len(text) - (most - head) :])
    return Cut(escape(text[:head]), tail, len(text) - most)


def cut_excerpt(excerpt: Excerpt, most: int) -> Cut:
    """Return what is shown of a prompt or a reply; `left_out` counts what the file has beside it.

    It counts bytes of what the record's reader left out, and characters of what is cut here.
    """
    if not excerpt.left_out:
        return cut(excerpt.head, most)
    head, tail = printed(excerpt.head), printed(excerpt.tail)
    ahead, behind = most * 2 // 3, most - most * 2 // 3
    shown = escape(head[:ahead]), escape(tail[-behind:] if behind else "")
    unseen = max(0, len(head) - ahead) + max(0, len(tail) - behind)
    return Cut(*shown, excerpt.left_out + unseen)


def brief_text(text: str) -> str:
    """Return a text that is a name or a sentence; one that is far too long for that is cut."""
    if len(text) <= _LONGEST_NAME:
        return visible(text)
    return f"{visible(text[:_LONGEST_NAME])}… ({len(text) - _LONGEST_NAME:,} characters left out)"
