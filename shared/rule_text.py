"""What a code stands for, in words: the same form for all of them, whoever finds the fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


def severity_of(code: str) -> Severity:
    """Return how much a finding with this code weighs: its first letter says."""
    return "warning" if code.startswith("W") else "error"


@dataclass(frozen=True, slots=True)
class RuleText:
    """A code and what it stands for.

    `why` says what goes wrong without the rule, `remedy` what to do. `bad` and `good` are JSON:
    a plan, or the fields of one order, and a `repo` where it matters what is there.
    """

    code: str
    title: str
    why: str
    bad: str
    good: str
    remedy: str

    @property
    def severity(self) -> Severity:
        return severity_of(self.code)
