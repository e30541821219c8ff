"""Names the states of an order in a run, for the schedule, the summaries and the user alike."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class OrderState(StrEnum):
    """Name the state of an order in this run.

    Only the last six appear in a summary: a run that is over leaves no order in the other states.
    An order waits for those that it needs, and again before its next attempt. Its proposal is
    judged once its parent is known, and what was judged waits for its turn to land. An order that
    is left out is not made because a person decided so.
    """

    WAITING = "waiting"
    PROPOSING = "proposing"
    PROPOSED = "proposed"
    JUDGING = "judging"
    JUDGED = "judged"
    LANDED = "landed"
    SKIPPED = "skipped"
    FAILED = "failed"
    BLOCKED = "blocked"
    PENDING = "pending"
    LEFT_OUT = "left_out"

    @property
    def is_on_branch(self) -> bool:
        """Return whether the order's commit is on the branch, from this run or an earlier one."""
        return self in (OrderState.LANDED, OrderState.SKIPPED)

    @property
    def is_over(self) -> bool:
        """Return whether this run does nothing more for the order."""
        return self not in _UNFINISHED


_UNFINISHED = frozenset(
    {
        OrderState.WAITING,
        OrderState.PROPOSING,
        OrderState.PROPOSED,
        OrderState.JUDGING,
        OrderState.JUDGED,
    }
)

EndState = Literal[
    OrderState.LANDED,
    OrderState.SKIPPED,
    OrderState.FAILED,
    OrderState.BLOCKED,
    OrderState.PENDING,
    OrderState.LEFT_OUT,
]
"""The states that an order can have when its run is over."""
