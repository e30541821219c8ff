"""Defines the text that explains a code, in planner and factory alike, and how texts are quoted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning"]

_MAX_QUOTED: Final = 120


def severity_of(code: str) -> Severity:
    """Return the severity of a finding with this code; the code's first letter says it."""
    return "warning" if code.startswith("W") else "error"


@dataclass(frozen=True, slots=True)
class Example:
    """Show what breaks a rule and what keeps it.

    Both are JSON: a plan, or the fields of one order, and a `repo` where its content matters.
    """

    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class RuleText:
    """Explain a code.

    `why` says what goes wrong without the rule, `remedy` what to do. `bad` and `good` are the two
    sides of an `Example`. They are empty where languages decide the code: each of them then has an
    example of its own (`shared.languages.capabilities`).
    """

    code: str
    title: str
    why: str
    remedy: str
    bad: str = ""
    good: str = ""

    @property
    def severity(self) -> Severity:
        """Return whether a finding with this code is an error or a warning."""
        return severity_of(self.code)


def quoted(text: str) -> str:
    """Return `text` quoted on one line, cut to the length that a message can hold."""
    line = json.dumps(text, ensure_ascii=False)
    return line if len(line) <= _MAX_QUOTED else f'{line[:_MAX_QUOTED]}..."'
