"""Says how a run that is not done goes on: by which command, and what has to be done before. Pure.

Only what is true is said. The same command does not go on where it demanded a new branch that now
exists, or where it named the commit of a branch that has moved since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from factory.orders.documents import RunSummary
from factory.orders.options import RunOptions
from factory.orders.order_state import OrderState
from factory.orders.stages import Stage
from factory.repo.preflight import BranchPolicy
from shared.errors import LlmchError


@dataclass(frozen=True, slots=True)
class Standing:
    """Hold what decides how a run goes on: its options, and whether its branch has moved."""

    options: RunOptions
    moved: bool

    @property
    def command(self) -> str:
        """Return, in words, the command that goes on."""
        changes = []
        if self.moved and self.options.policy is BranchPolicy.CREATE:
            changes.append("with --reuse-branch instead of --create-branch")
        if self.moved and self.options.start is not None:
            changes.append("without --commit-hash")
        return f"the same command {' and '.join(changes) or 'again'}"


def after_interruption(standing: Standing) -> str:
    """Return what goes on after Ctrl-C or SIGTERM."""
    return f"the state is kept: {standing.command} goes on from here"


def after_the_orders(
    standing: Standing, orders: Sequence[RunSummary], error: LlmchError | None
) -> str:
    """Return what to do after a run of several orders; "" if all of them are on the branch.

    `error` is what ended the run early. It is reported after this, with a hint of its own.
    """
    if all(each.state.is_on_branch for each in orders):
        return ""
    goes_on = f"{standing.command} goes on where this one stopped"
    if error is not None:
        return f"once the error below is dealt with, {goes_on}"
    failed = next((each for each in orders if each.state is OrderState.FAILED), None)
    if failed is None or failed.failure is None:
        return goes_on
    match failed.failure.stage:
        case Stage.ENVIRONMENT:
            return f"{failed.failure.remedy}; then {goes_on}"
        case Stage.WRITE_FAILED:
            return f"free space or correct the permissions; then {goes_on}"
        case Stage.PREFLIGHT:
            return (
                f"correct {failed.work_order}, or plan again: "
                "the same command would refuse this order again"
            )
        case _:
            return f"{goes_on} and asks for {failed.work_order} anew"
