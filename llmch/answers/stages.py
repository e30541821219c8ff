"""Answers what a stage means, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from factory.orders.stage_texts import ATTEMPT_STAGE_TEXTS, STAGE_TEXTS
from llmch.console.document import Block, Document, Paragraph

if TYPE_CHECKING:
    from factory.orders.stage_texts import StageText

STAGE_NAMES = (*(str(each.stage) for each in STAGE_TEXTS), *map(str, ATTEMPT_STAGE_TEXTS))


@dataclass(frozen=True, slots=True)
class StageDocument:
    """Represent the answer of `explain STAGE` for a stage of a failure."""

    text: StageText

    def to_json(self) -> object:
        """Return all parts of the text as plain values."""
        return {
            "stage": self.text.stage,
            "happened": self.text.happened,
            "another_attempt": self.text.stage.retryable,
            "consequence": self.text.consequence,
            "remedy": self.text.remedy,
        }

    def blocks(self) -> Iterator[Block]:
        """Return what happened, what follows from it, and what to do."""
        text = self.text
        again = "Another attempt follows" if text.stage.retryable else "No other attempt follows"
        yield Paragraph((f"{text.stage}  (a stage of a failure)", ""))
        yield Paragraph((text.happened, ""))
        bound = ", up to --max-attempts" if text.stage.retryable else ""
        yield Paragraph((f"{again}{bound}. {text.consequence}", ""))
        yield Paragraph((f"Remedy: {text.remedy}",))


@dataclass(frozen=True, slots=True)
class AttemptStageDocument:
    """Represent the answer of `explain STAGE` for a stage that every attempt goes through."""

    name: str
    happens: str

    def to_json(self) -> object:
        """Return the name and what happens, as plain values."""
        return {"stage": self.name, "happens": self.happens}

    def blocks(self) -> Iterator[Block]:
        """Return what happens at the stage."""
        yield Paragraph((f"{self.name}  (a stage of an attempt)", "", f"{self.happens}."))


def explain_stage(name: str) -> Document | None:
    """Return what the stage of this name means, or `None` where there is none."""
    for text in STAGE_TEXTS:
        if text.stage == name:
            return StageDocument(text)
    for stage, happens in ATTEMPT_STAGE_TEXTS.items():
        if stage == name:
            return AttemptStageDocument(name, happens[0].upper() + happens[1:])
    return None
