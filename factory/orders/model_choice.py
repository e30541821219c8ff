"""Decides which model is asked on which attempt, and in which reply format. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from factory.orders.documents import AttemptRecord
from factory.orders.reply_format import ReplyFormat, choose_reply_format
from factory.orders.stages import Stage


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Hold which model answers on which attempt, and how it is asked.

    `trusted_schemas` says whether the server enforces the schemas that it accepts. `reply_format`
    is the format that the user forced, `None` if the user left it open.
    """

    model: Callable[[int], str]
    temperature: float | None = 0.0
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    trusted_schemas: bool = False
    reply_format: ReplyFormat | None = None

    def format_for(self, records: Sequence[AttemptRecord]) -> ReplyFormat:
        """Return the format to ask for after the attempts in `records`, which are of one order.

        Records of other orders would make a prompt depend on the orders that happened to run
        before.
        """
        invalid = sum(
            record.failure_brief is not None
            and record.failure_brief.stage is Stage.LLM_OUTPUT_INVALID
            for record in records
        )
        return choose_reply_format(
            self.reply_format, trusted_schemas=self.trusted_schemas, invalid_replies=invalid
        )
