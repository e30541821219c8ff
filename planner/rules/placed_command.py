"""Represents a command at its place in the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.plan.projection import Projection
from planner.steps.step import Step
from shared.languages.capabilities.chain import first_with
from shared.languages.capabilities.commands import Command


@dataclass(frozen=True, slots=True)
class PlacedCommand:
    """Hold one command and its place in the plan."""

    step: Step
    index: int
    command: Command

    @property
    def chain(self) -> Projection:
        return self.step.chain

    @property
    def after(self) -> int:
        return self.step.draft.position

    def file_is_there(self, path: str, after: int) -> bool:
        return self.chain.may_exist(path, after) or self.chain.is_unread(path, after)

    def first_with(self, holds: Callable[[int], bool]) -> int | None:
        """Return the position of the first later order after which `holds` is true.

        `holds` stays true until an order removes a file.
        """
        later = range(self.after + 1, len(self.step.plan.drafts) + 1)
        return first_with(later, holds, self.chain.removing)
