"""Defines a run as one value: what was asked for, what happened, and what speaks for the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from llmch.run_view.model.attempts import CallView
from llmch.run_view.model.commands import SandboxView
from llmch.run_view.model.orders import OrderView
from llmch.run_view.model.planning import PlanningView
from llmch.run_view.model.states import Standing
from llmch.run_view.model.time_spans import Track
from llmch.run_view.model.usage import RoleUsage, UsageView
from shared.work_order.coverage import CoveredRequirement


@dataclass(frozen=True, slots=True)
class RunView:
    """Hold a run, or a branch that no run on record made; then `run_id` is "".

    `gaps` say what the records do not have, and where it could be had.
    """

    run_id: str
    title: str
    standing: Standing
    branch: str = ""
    base: str = ""
    tip: str = ""
    command: str = ""
    started: str = ""
    ended: str = ""
    seconds: float | None = None
    error: str = ""
    version: str = ""
    overview: tuple[str, ...] = ()
    orders: tuple[OrderView, ...] = ()
    tracks: tuple[Track, ...] = ()
    usage: UsageView = field(default_factory=UsageView)
    roles: tuple[RoleUsage, ...] = ()
    requirements: tuple[CoveredRequirement, ...] = ()
    sandboxes: tuple[SandboxView, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    messages: tuple[str, ...] = ()
    """What the run itself noted and warned of."""
    gaps: tuple[str, ...] = ()
    planning: PlanningView | None = None
    """How the plan was made; `None` where its records are not here."""

    @property
    def landed(self) -> int:
        """Return the number of orders that are on the branch."""
        return sum(each.is_on_branch for each in self.orders)

    @property
    def attempts(self) -> int:
        """Return the number of attempts of this run, including those of earlier runs it shows."""
        return sum(len(each.attempts) for each in self.orders)

    @property
    def rejected(self) -> int:
        """Return the number of attempts that failed."""
        return sum(each.rejected for each in self.orders)


def calls_of(run: RunView) -> Iterator[CallView]:
    """Yield all calls of models that a run shows."""
    if run.planning is not None:
        for made in run.planning.attempts:
            yield from made.calls
        for review in run.planning.reviews:
            yield from review.calls
    for order in run.orders:
        for attempt in order.attempts:
            yield from attempt.calls
