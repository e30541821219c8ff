"""Says how a run that is not done goes on: by which command, and what has to be done before. Pure.

Only what is true is said. The same command does not go on where it demanded a new branch that now
exists, or where it named the commit of a branch that has moved since.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from factory.orders.documents import RunSummary
from factory.orders.next_step import PlanAtHand, next_step
from factory.orders.options import RunOptions
from factory.orders.order_state import OrderState
from factory.orders.stages import Stage
from factory.repo.preflight import BranchPolicy
from shared.errors import LlmchError


@dataclass(frozen=True, slots=True)
class Standing:
    """Hold what decides how a run goes on: its options, and whether its branch has moved.

    `plan` is where the orders' plan is, if they have one. `rest` is the command that makes the
    other orders of the plan, after a run of a single one.
    """

    options: RunOptions
    moved: bool
    plan: PlanAtHand | None = None
    rest: str = ""

    @property
    def place(self) -> str:
        """Return the option with which other verbs find the repo, after a space; "" in it."""
        return place_option(self.options.repo)

    @property
    def command(self) -> str:
        """Return, in words, the command that goes on."""
        if self.rest:
            return f"`{self.rest}`"
        changes = []
        if self.moved and self.options.policy is BranchPolicy.CREATE:
            changes.append("with --reuse-branch instead of --create-branch")
        if self.moved and self.options.start is not None:
            changes.append("without --commit-hash")
        return f"the same command {' and '.join(changes) or 'again'}"


def place_option(repo: Path) -> str:
    """Return the option that names `repo`, after a space; "" for the current folder."""
    return "" if repo == Path() else f" --repo {shlex.quote(str(repo))}"


def after_interruption(standing: Standing) -> str:
    """Return what goes on after Ctrl-C or SIGTERM."""
    return f"the state is kept: {standing.command} goes on from here"


def after_the_orders(
    standing: Standing, orders: Sequence[RunSummary], error: LlmchError | None
) -> str:
    """Return what to do after a run of orders; "" if none is left to be made.

    `error` is what ended the run early. It is reported after this, with a hint of its own.
    """
    if all(each.verdict == "PASS" for each in orders):
        return f"{standing.command} goes on with the other orders" if standing.rest else ""
    goes_on = f"{standing.command} goes on where this one stopped"
    if error is not None:
        return f"once the error below is dealt with, {goes_on}"
    failed = next((each for each in orders if each.state is OrderState.FAILED), None)
    if failed is None or failed.failure is None:
        return _after_left_out(orders, standing.place) or goes_on
    stage, order = failed.failure.stage, failed.work_order
    if stage == "error":
        return f"{goes_on} and asks for {order} anew"
    stage = Stage(stage)
    remedy = failed.failure.remedy
    step = next_step(stage, order, place=standing.place, remedy=remedy, plan=standing.plan)
    if remedy:
        return f"{step}; then {goes_on}"
    match stage:
        case Stage.ENVIRONMENT | Stage.WRITE_FAILED:
            return f"{step}; then {goes_on}"
        case Stage.PREFLIGHT:
            return f"{step}; the same command would refuse this order again"
        case _:
            return f"{step}; {goes_on} and asks for {order} anew"


def _after_left_out(orders: Sequence[RunSummary], place: str) -> str:
    """Return how the orders that a left-out one blocks come to be made; "" if there are none."""
    out = next((each for each in orders if each.state is OrderState.LEFT_OUT), None)
    if out is None or any(each.state is OrderState.PENDING for each in orders):
        return ""
    return (
        f"`llmch skip {out.work_order}{place} --undo` takes up {out.work_order} again, "
        "so that the orders that need it can be made"
    )
