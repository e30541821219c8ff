"""Defines what is kept of an attempt that failed, for the attempts that follow it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from factory.orders.documents import FailureBrief, WriteProposal
from factory.orders.reply_format import Form


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """Hold a failed attempt: which rung of the ladder was asked, what it proposed, what came of it.

    `rung` counts from 0. `proposal` is `None` where no reply was a proposal. `misfits` names by
    path the forms of blocks that could not be applied.
    """

    number: int
    rung: int
    proposal: WriteProposal | None
    brief: FailureBrief
    misfits: frozenset[tuple[str, Form]] = frozenset()
