"""Defines a topic of `llmch help` as an answer. This module is pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmch.console.document import Block, Definition, Paragraph


@dataclass(frozen=True, slots=True)
class Term:
    """Hold a term that a topic explains, and one or more sentences that explain it."""

    name: str
    meaning: tuple[str, ...]
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Hold the terms of a topic that belong together; the title may be empty."""

    title: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """Represent the answer of `help TOPIC`. `more` says where more can be learned."""

    name: str
    text: tuple[str, ...]
    parts: tuple[Part, ...]
    more: str = ""

    def to_json(self) -> object:
        """Return all of the topic as plain values."""
        return {
            "topic": self.name,
            "text": list(self.text),
            "parts": [
                {
                    "title": part.title,
                    "terms": [
                        {"name": each.name, "about": each.aside, "meaning": list(each.meaning)}
                        for each in part.terms
                    ],
                }
                for part in self.parts
            ],
            "more": self.more,
        }

    def blocks(self) -> Iterator[Block]:
        """Return the topic as a text with its terms."""
        yield Paragraph((*self.text, ""))
        for part in self.parts:
            if part.title:
                yield Paragraph((f"{part.title}:", ""))
            yield from (Definition(each.name, each.meaning, each.aside) for each in part.terms)
            yield Paragraph(("",))
        if self.more:
            yield Paragraph((self.more,))
