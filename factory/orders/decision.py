"""Defines what a person decides about an order: a hint, a commit that stands for it, to leave it.

Nothing else is imported: `status` shows decisions, and starts without pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_HINT_CHARACTERS: Final = 4000
"""The limit of a hint. It stands in every prompt of the order, so it costs as often."""

MAX_REASON_CHARACTERS: Final = 1000


@dataclass(frozen=True, slots=True)
class DecisionKey:
    """Identify an order on a branch, also in the plans that follow its plan.

    `plan` is the hash of the oldest plan, "" for an order without a plan. `key` is the hash of the
    order's work: an order that is worded anew is another order.
    """

    branch: str
    plan: str
    order: str
    key: str


@dataclass(frozen=True, slots=True)
class AcceptedCommit:
    """Name the commit that stands for an order, and the requirements that it covers by that.

    `beyond` are the files that it changes although the order does not allow it.
    """

    commit: str
    title: str = ""
    covers: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Hold what holds of an order: `hint` for its prompts, the reason to leave it out, its commit.

    A commit and a reason exclude each other. Empty values mean that nothing was decided.
    """

    hint: str = ""
    left_out: str = ""
    accepted: AcceptedCommit | None = None

    @property
    def is_empty(self) -> bool:
        return self == NOTHING_DECIDED


NOTHING_DECIDED: Final = Decision()
