"""Builds the request for a proposal: Chat Completions, in the format that the prompt asks for."""

from __future__ import annotations

from collections.abc import Sequence

from factory.orders.documents import WriteProposal
from factory.orders.model_choice import ModelChoice
from factory.orders.reply_format import ReplyFormat
from factory.orders.retry import Asking
from factory.proposal.reply_schema import reply_schema
from factory.proposal.scope import FileState
from shared.llm.client import Api, CallPlace, ReplySchema, Request, Role
from shared.work_order.schemas import WorkOrder


def build_request(
    order: WorkOrder,
    attempt: int,
    prompt: str,
    asked: ReplyFormat,
    shown: Sequence[FileState],
    models: ModelChoice,
    asking: Asking,
) -> Request:
    """Return one request of an attempt, asked as `asking` says.

    A JSON reply is bound to the order's paths and hashes.
    """
    return Request(
        api=Api.CHAT,
        model=asking.model,
        prompt=prompt,
        place=CallPlace(Role.FACTORY, attempt, order.id),
        reply_schema=_schema(order, shown) if asked is ReplyFormat.JSON else None,
        temperature=asking.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
    )


def _schema(order: WorkOrder, shown: Sequence[FileState]) -> ReplySchema:
    hashes = sorted({state.sha256 for state in shown})
    choices = {"path": order.allowed_files, "base_sha256": hashes}
    return reply_schema("write_proposal", WriteProposal, choices=choices)
