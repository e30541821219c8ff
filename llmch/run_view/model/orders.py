"""Defines what is shown of an order."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmch.run_view.model.attempts import AttemptView, BriefView, Change
from llmch.run_view.model.commands import CommandView
from llmch.run_view.model.states import Judged
from llmch.run_view.model.usage import UsageView


@dataclass(frozen=True, slots=True)
class Flag:
    """Hold an acceptance command that proves less than it should."""

    code: str
    command: str
    message: str


@dataclass(frozen=True, slots=True)
class OrderView:
    """Hold one order: what it asks for, what was tried, and what landed.

    `state` is that of the run's summary, or what the records show where there is no summary.
    `earlier_run` is the id of the run that made the order, where that is not the run of the page.
    """

    id: str
    title: str
    state: str
    intent: str = ""
    notes: str = ""
    allowed_files: tuple[str, ...] = ()
    removed_files: tuple[str, ...] = ()
    context_files: tuple[str, ...] = ()
    acceptance_commands: tuple[str, ...] = ()
    acceptance_files: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    commit: str = ""
    parent: str = ""
    proof: str = ""
    change: Change = field(default_factory=Change)
    """What the commit changes."""
    attempts: tuple[AttemptView, ...] = ()
    trials: tuple[CommandView, ...] = ()
    """The acceptance commands, tried on code that does not have the order's work."""
    failure: BriefView | None = None
    warnings: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    usage: UsageView = field(default_factory=UsageView)
    earlier_run: str = ""
    stated: tuple[CommandView, ...] = ()
    """The commands that judged the commit, as its statement says; no output is stated."""
    maker: str = ""
    """Who made the commit, as its statement says."""

    @property
    def is_on_branch(self) -> bool:
        """Return whether the order's commit is on the branch."""
        return self.state in ("landed", "skipped", "accepted")

    @property
    def rejected(self) -> int:
        """Return the number of attempts that failed."""
        return sum(each.judged is Judged.FAILED for each in self.attempts)
