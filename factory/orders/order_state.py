"""Where an order of a run stands: one vocabulary for the schedule, the summaries and the user."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class OrderState(StrEnum):
    """Where an order stands in this run.

    A summary knows the last five only: a run that is over leaves no order in the others.
    """

    WAITING = "waiting"
    RUNNING = "running"
    MADE = "made"
    LANDED = "landed"
    SKIPPED = "skipped"
    FAILED = "failed"
    BLOCKED = "blocked"
    PENDING = "pending"

    @property
    def is_on_branch(self) -> bool:
        """Whether the order's commit is on the branch, from this run or an earlier one."""
        return self in (OrderState.LANDED, OrderState.SKIPPED)

    @property
    def is_over(self) -> bool:
        """Whether this run does nothing more for the order."""
        return self not in (OrderState.WAITING, OrderState.RUNNING, OrderState.MADE)


EndState = Literal[
    OrderState.LANDED,
    OrderState.SKIPPED,
    OrderState.FAILED,
    OrderState.BLOCKED,
    OrderState.PENDING,
]
"""Where an order can stand when its run is over."""
