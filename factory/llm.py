"""How the factory asks: Chat Completions, in the reply format that the model can keep to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from factory.schemas import AttemptRecord, Stage, WriteProposal
from factory.scope import FileState
from shared.llm.client import Api, Place, ReplySchema, Request, Role
from shared.llm.reply_format import ReplyFormat, choose_reply_format
from shared.llm.reply_schema import reply_schema
from shared.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model answers on which attempt, and how it is asked.

    `trusted_schemas` says whether the server's schemas bind; `reply_format` is forced by the user
    where it is not `None`.
    """

    model: Callable[[int], str]
    temperature: float | None = 0.0
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    trusted_schemas: bool = False
    reply_format: ReplyFormat | None = None

    def format_for(self, records: Sequence[AttemptRecord]) -> ReplyFormat:
        """Return the format to ask for after the attempts that `records` tell of.

        What is learned holds for one order: were it carried over, a prompt would depend on which
        orders happened to run before.
        """
        invalid = sum(
            record.failure_brief is not None
            and record.failure_brief.stage is Stage.LLM_OUTPUT_INVALID
            for record in records
        )
        return choose_reply_format(
            self.reply_format, trusted_schemas=self.trusted_schemas, invalid_replies=invalid
        )


def build_request(
    order: WorkOrder,
    attempt: int,
    prompt: str,
    asked: ReplyFormat,
    shown: Sequence[FileState],
    models: ModelChoice,
) -> Request:
    """Return the request of one attempt; a JSON reply is bound to the order's paths and hashes."""
    return Request(
        api=Api.CHAT,
        model=models.model(attempt),
        prompt=prompt,
        place=Place(Role.FACTORY, attempt, order.id),
        reply_schema=_schema(order, shown) if asked is ReplyFormat.JSON else None,
        temperature=models.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
    )


def _schema(order: WorkOrder, shown: Sequence[FileState]) -> ReplySchema:
    hashes = sorted({state.sha256 for state in shown})
    choices = {"path": order.allowed_files, "base_sha256": hashes}
    return reply_schema("write_proposal", WriteProposal, choices=choices)
