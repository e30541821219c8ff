"""Decides which model is asked on which attempt, and in which reply format. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from factory.orders.documents import AttemptRecord
from factory.orders.ladder import Rung, rung_for_attempt
from factory.orders.reply_format import ReplyFormat, choose_reply_format
from factory.orders.stages import Stage


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Hold which model answers on which attempt, and how it is asked.

    `trusted_schemas` says whether the server enforces the schemas that it accepts. `reply_format`
    is the format that the user forced, `None` if the user left it open.
    """

    ladder: tuple[Rung, ...]
    attempts: int = 1
    """The number of attempts among which the rungs are shared."""
    temperature: float | None = 0.0
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    trusted_schemas: bool = False
    reply_format: ReplyFormat | None = None

    def scheduled_rung(self, attempt: int) -> int:
        """Return the rung whose turn it is on an attempt, counted from 0."""
        return rung_for_attempt(self.ladder, attempt, self.attempts)

    def model(self, attempt: int) -> str:
        """Return the model whose turn it is on an attempt."""
        return self.ladder[self.scheduled_rung(attempt)].model

    def format_for(self, records: Sequence[AttemptRecord], unreadable: int = 0) -> ReplyFormat:
        """Return the format to ask for after the attempts in `records`, which are of one order.

        `unreadable` is the number of replies of the current attempt that could not be read.
        Records of other orders would make a prompt depend on the orders that happened to run
        before.
        """
        invalid = unreadable + sum(
            record.failure_brief is not None
            and record.failure_brief.stage is Stage.LLM_OUTPUT_INVALID
            for record in records
        )
        return choose_reply_format(
            self.reply_format, trusted_schemas=self.trusted_schemas, invalid_replies=invalid
        )
