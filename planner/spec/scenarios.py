"""Joins the steps of a scenario (GIVEN, WHEN, THEN) that stand in items of their own. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.spec.statements import Statement

_STEP = re.compile(
    r"(?:\*\*|__)(?P<bold>(?i:given|when|then|and|but))\b|(?P<plain>GIVEN|WHEN|THEN|AND|BUT)\b"
)
_THEN = re.compile(r"\bthen\b", re.IGNORECASE)


def with_joined_steps(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements; those that are steps of one scenario are one, as none demands alone.

    A scenario ends with its THEN and what is added to that. Steps are items of one list that begin
    with the word in capitals or bold type.
    """
    joined: Statement | None = None
    for each in statements:
        if joined is not None and _goes_on(joined, each):
            text = f"{joined.text} {each.text}"
            joined = replace(joined, text=text, whole=f"{joined.whole} {each.text}")
            continue
        if joined is not None:
            yield joined
        joined = each
    if joined is not None:
        yield joined


def _goes_on(before: Statement, step: Statement) -> bool:
    word = _step_of(step)
    if not word or not _step_of(before) or before.headings != step.headings:
        return False
    return word in ("and", "but") or not _THEN.search(before.text)


def _step_of(statement: Statement) -> str:
    """Return the word that a step begins with, "" for what is no step."""
    found = _STEP.match(statement.text) if statement.is_item and not statement.own_id else None
    return (found["bold"] or found["plain"]).casefold() if found else ""
