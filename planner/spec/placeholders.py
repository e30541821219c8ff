"""Holds the words that `llmch init` writes into a specification, and finds those that are left.

A plan made from these words would be paid for and be of no use. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

SUMMARY: Final = "Say in a few sentences what the product is, who uses it, and what for."
REQUIREMENTS: Final = (
    "Say one thing that the product must do, in words that a command can test.",
    "Say the next thing. Name inputs, results, and what happens when something is wrong.",
)
CONSTRAINTS: Final = ("Say what limits how it is built: language, dependencies, layout.",)


def find_placeholders(text: str) -> Iterator[str]:
    """Yield each of these sentences that stands at the end of a line of `text`, once."""
    ends = [line.rstrip() for line in text.splitlines()]
    for sentence in (SUMMARY, *REQUIREMENTS, *CONSTRAINTS):
        if any(line.endswith(sentence) for line in ends):
            yield sentence
