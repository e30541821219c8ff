"""Builds the request for a proposal: Chat Completions, in the format that the prompt asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from factory.orders.documents import ModelProposal
from factory.orders.model_choice import ModelChoice
from factory.orders.reply_format import Form, Offer, ReplyFormat
from factory.orders.retry import Asking
from factory.proposal.focus import Focus
from factory.proposal.reply_schema import reply_schema
from factory.proposal.reply_size import ample_reply_tokens
from factory.proposal.scope import FileState
from factory.proposal.shown import ShownFile
from shared.llm.client import Api, CallPlace, ReplySchema, Request, Role
from shared.work_order.schemas import WorkOrder

_EDIT_BYTES = 8000
"""How many bytes the edits of one file may take, by a generous guess."""


@dataclass(frozen=True, slots=True)
class Question:
    """Hold one question to the model: whom to ask and how, what is offered, and the prompt.

    `focus` is the definition that the prompt asks for, if it asks for one alone.
    """

    asking: Asking
    offer: Offer
    prompt: str
    focus: Focus | None = None


def build_request(
    order: WorkOrder,
    attempt: int,
    question: Question,
    shown: Sequence[ShownFile],
    models: ModelChoice,
) -> Request:
    """Return the request of a question; a JSON reply is bound to the order's paths and hashes."""
    sizes = [
        _written_size(each, question.offer) for each in shown if each.path in order.allowed_files
    ]
    states = [file.state for file in shown]
    return Request(
        api=Api.CHAT,
        model=question.asking.model,
        prompt=question.prompt,
        place=CallPlace(Role.FACTORY, attempt, order.id),
        reply_schema=_schema(order, states) if question.offer.format is ReplyFormat.JSON else None,
        temperature=question.asking.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
        expected_output_tokens=ample_reply_tokens(sizes),
    )


def _written_size(file: ShownFile, offer: Offer) -> int:
    """Return how many bytes a reply needs for a change of a file."""
    size = len(file.text.encode())
    in_part = offer.forms.get(file.path, Form.WHOLE) is not Form.WHOLE
    return min(size, _EDIT_BYTES) if in_part else size


def _schema(order: WorkOrder, shown: Sequence[FileState]) -> ReplySchema:
    hashes = sorted({state.sha256 for state in shown})
    choices = {"path": order.allowed_files, "base_sha256": hashes}
    return reply_schema("write_proposal", ModelProposal, choices=choices)
