"""Explains the stages of an attempt and those of a failure."""

from __future__ import annotations

from factory.orders.stage_texts import ATTEMPT_STAGE_TEXTS, STAGE_TEXTS, StageText
from llmch.verbs.help.topic import Part, Term, Topic


def explain_stages() -> Topic:
    """Return what happens at each stage of an attempt, and what each failure means."""
    passed = tuple(
        Term(str(stage), (f"{happens[0].upper()}{happens[1:]}.",))
        for stage, happens in ATTEMPT_STAGE_TEXTS.items()
    )
    return Topic(
        "stages",
        ("An attempt at an order goes through stages. One that fails names the stage.",),
        (
            Part("The stages of an attempt, in their sequence", passed),
            Part("The stages of a failure", tuple(map(_failure, STAGE_TEXTS))),
        ),
        "`llmch explain verify_failed` shows one of them.",
    )


def _failure(text: StageText) -> Term:
    again = "another attempt follows" if text.stage.retryable else "no other attempt follows"
    meaning = (text.happened, text.consequence, f"What you can do: {text.remedy}")
    return Term(str(text.stage), meaning, again)
