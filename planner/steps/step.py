"""Defines a step: one order in its place in the plan, as rules see it."""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan.plan import Draft, Plan
from planner.plan.projection import Projection
from planner.plan.target import TargetRepo
from planner.steps.findings import Finding
from shared.languages.capabilities.chain import ChainCode, OrderCode
from shared.languages.capabilities.commands import Command
from shared.work_order.field_path import FieldPath


@dataclass(frozen=True, slots=True)
class Step:
    """Hold one order in its place: its draft, the parts that could be read, and its surroundings.

    `code` is what languages are shown of the order, and `codes` what answers for each language that
    concerns the plan. `chain` has the files at every point of the chain. `target` is the repo.
    """

    draft: Draft
    code: OrderCode
    codes: tuple[ChainCode, ...]
    plan: Plan
    chain: Projection
    target: TargetRepo

    @property
    def commands(self) -> tuple[tuple[int, Command], ...]:
        """Return the acceptance commands with their indices."""
        return self.code.commands

    def finding(self, code: str, at: FieldPath, message: str) -> Finding:
        """Return a finding about a field of this order."""
        return Finding(code, self.draft.position, self.draft.label, at, message)

    def source(self, position: int) -> str:
        """Return a name for `position`: the label of the order there, or "the repo" for 0."""
        return self.plan.drafts[position - 1].label if position else "the repo"
