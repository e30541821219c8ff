"""Decides how much of long texts the page shows, and says in words what it leaves out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup, escape

from llmch.page.visible import printed, visible

MEGABYTE = 1_000_000
_LONGEST_NAME = 600  # characters


@dataclass(frozen=True, slots=True)
class Allowance:
    """Hold how many characters are shown of a patch, a stream of output, a text and a command."""

    patch: int = 60_000
    output: int = 4_000
    text: int = 8_000
    name: int = 2_000

    def smaller(self) -> Allowance:
        """Return half of it."""
        return Allowance(self.patch // 2, self.output // 2, self.text // 2, self.name // 2)

    @property
    def is_least(self) -> bool:
        """Return whether less would show nothing of use."""
        return self.patch < 500


def largest_page(orders: int) -> int:
    """Return how many bytes a page may have: 2 MB up to 50 orders, and more with more orders."""
    return 2 * MEGABYTE * max(50, orders) // 50


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


def brief_text(text: str) -> str:
    """Return a text that is a name or a sentence; one that is far too long for that is cut."""
    if len(text) <= _LONGEST_NAME:
        return visible(text)
    return f"{visible(text[:_LONGEST_NAME])}… ({len(text) - _LONGEST_NAME:,} characters left out)"
