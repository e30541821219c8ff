"""Defines a finding, which is one rule's complaint, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from shared.rule_text import Severity, severity_of
from shared.work_order.field_path import FieldPath


@dataclass(frozen=True, slots=True)
class Finding:
    """Represent one rule's complaint.

    `order` is the label of the order that the finding is about, and empty for the whole plan. `at`
    is the field at fault. `position` is the order's place in the plan, from 1; 0 is the plan.
    """

    code: str
    position: int
    order: str
    at: FieldPath
    message: str

    @property
    def severity(self) -> Severity:
        return severity_of(self.code)

    @property
    def field(self) -> str:
        """Return the field as text, as in `acceptance_commands[0]`; empty for no single field."""
        return str(self.at)

    def render(self) -> str:
        """Return `[E101] WO-02 preconditions[0]: message`."""
        place = " ".join(each for each in (self.order or "plan", self.field) if each)
        return f"[{self.code}] {place}: {self.message}"


def plan_finding(code: str, at: FieldPath, message: str) -> Finding:
    """Return a finding about the plan as a whole."""
    return Finding(code, 0, "", at, message)
