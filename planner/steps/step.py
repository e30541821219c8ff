"""One order of a plan in its place, as rules and the type checker's judgement look at it."""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan.plan import Draft, Plan
from planner.plan.projection import Projection
from planner.plan.target import TargetRepo
from planner.steps.declared import DeclaredInterface
from planner.steps.findings import Finding
from shared.commands.commands import Command
from shared.languages.python.views.views import ModuleHistory
from shared.work_order.field_path import FieldPath


@dataclass(frozen=True, slots=True)
class Step:
    """One order in its place: its draft, what could be read of it, and what is around it.

    `chain` has the files and `history` the Python of every point of the chain, `target` the repo.
    """

    draft: Draft
    commands: tuple[tuple[int, Command], ...]
    interfaces: tuple[DeclaredInterface, ...]
    plan: Plan
    chain: Projection
    history: ModuleHistory
    target: TargetRepo

    def finding(self, code: str, at: FieldPath, message: str) -> Finding:
        """Return a finding about a field of this order."""
        return Finding(code, self.draft.position, self.draft.label, at, message)

    def source(self, position: int) -> str:
        """Return what to call whoever stands at `position`: an order, or the repo at 0."""
        return self.plan.drafts[position - 1].label if position else "the repo"
