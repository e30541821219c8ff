"""Builds the request for a proposal, and the schema of its reply.

Strict servers accept a subset of JSON schema: every object is closed, every property is required,
and few keywords are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from factory.orders.documents import (
    FALL_BACK_UP_TO_LINES,
    Form,
    Offer,
    ReplyFormat,
    ReplyRecord,
    WritableFile,
    reply_sha256,
)
from factory.orders.model_choice import AskedModel, ModelChoice, choose_offer
from factory.proposal.shown_code import Focus, ShownFile, focus_of
from shared.languages.registry import language_of
from shared.llm.budget import likely_tokens, most_tokens
from shared.llm.model_client import Api, CallPlace, ReplySchema, Request, Role
from shared.work_order.work_order import WorkOrder

# A file that an order of the demos creates has 500 to 1,700 bytes, and its reply some marks and a
# sentence besides.
NEW_FILE_BYTES = 1_000
_ASIDE_TOKENS = 80

# A large new file is a module of 100 lines, and a model may reason before it answers.
_LARGE_FILE_BYTES = 4_000
_REASONING_TOKENS = 1_000


def likely_reply_tokens(sizes: Iterable[int | None]) -> int:
    """Return how many tokens a reply probably takes that writes files whole.

    `sizes` are the bytes of the files to write as they are now; `None` is a new file.
    """
    return _ASIDE_TOKENS + sum(likely_tokens(size or NEW_FILE_BYTES) for size in sizes)


def ample_reply_tokens(sizes: Iterable[int | None]) -> int:
    """Return with how many tokens a reply that writes files whole should not be cut short."""
    return _REASONING_TOKENS + sum(most_tokens(size or _LARGE_FILE_BYTES) for size in sizes)


_NEVER_WHOLE = FALL_BACK_UP_TO_LINES + 1
_EDIT_BYTES = 8000
"""How many bytes the edits of one file may take, by a generous guess."""


@dataclass(frozen=True, slots=True)
class Question:
    """Hold one question to the model: whom to ask and how, what is offered, and the prompt.

    `focus` is the definition that the prompt asks for, if it asks for one alone.
    """

    asked: AskedModel
    offer: Offer
    prompt: str
    focus: Focus | None = None

    def on_record(self, reply: str, model: str) -> ReplyRecord:
        """Return the record of a reply to the question."""
        return ReplyRecord(
            sha256=reply_sha256(reply),
            model=model,
            asked=self.offer.format,
            focused=self.focus is not None,
        )


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
    hashes = sorted({each.state.sha256 for each in shown})
    is_json = question.offer.format is ReplyFormat.JSON
    return Request(
        api=Api.CHAT,
        model=question.asked.model,
        prompt=question.prompt,
        place=CallPlace(Role.FACTORY, attempt, order.id),
        reply_schema=write_schema(order.allowed_files, hashes) if is_json else None,
        temperature=question.asked.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
        expected_output_tokens=ample_reply_tokens(sizes),
    )


def _written_size(file: ShownFile, offer: Offer) -> int:
    """Return how many bytes a reply needs for a change of a file."""
    size = len(file.text.encode())
    in_part = offer.forms.get(file.path, Form.WHOLE) is not Form.WHOLE
    return min(size, _EDIT_BYTES) if in_part else size


def write_schema(paths: Sequence[str], hashes: Sequence[str]) -> ReplySchema:
    """Return the schema of a reply in JSON: files at these paths, each based on one of the hashes.

    Where there are no hashes, any is taken. In place of files there may be a claim, as
    `parse_claim` reads it. It has only the keywords that strict servers know.
    """
    base = {"enum": [*hashes]} if hashes else {"pattern": "^[0-9a-f]{64}$"}
    write = {
        "path": {"type": "string", "enum": [*paths]},
        "base_sha256": {"type": "string", **base},
        "content": {"type": "string"},
    }
    claim = {
        "reason": {"type": "string"},
        "command": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }
    reply = {
        "impossible": {"anyOf": [_closed(claim), {"type": "null"}]},
        "summary": {"type": "string"},
        "writes": {"type": "array", "items": _closed(write)},
    }
    return ReplySchema("write_proposal", _closed(reply))


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def offer_for(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    asked: ReplyFormat,
    forced: ReplyFormat | None,
    model: str,
    misfits: Iterable[tuple[str, Form]],
) -> Offer:
    """Return how `model` is asked for the files of an order.

    `asked` and `forced` are those of `choose_offer`. `misfits` names by path the forms in which
    earlier replies could not be applied.
    """
    focus = focus_of(order, shown)
    failed: dict[str, Collection[Form]] = {}
    for path, form in misfits:
        failed[path] = {*failed.get(path, ()), form}
    files = [_writable(each, order, focus) for each in shown if each.path in order.allowed_files]
    return choose_offer(asked, forced, files, model, failed)


def _writable(file: ShownFile, order: WorkOrder, focus: Focus | None) -> WritableFile:
    named = any(each.path == file.path for each in order.interfaces) or bool(order.changes)
    language = language_of(file.path)
    return WritableFile(
        path=file.path,
        # What is not shown whole cannot be written whole.
        lines=max(len(file.text.splitlines()), 0 if file.parts is None else _NEVER_WHOLE),
        size=len(file.text.encode()),
        has_outline=language is not None and language.edits is not None,
        is_named=named,
        has_focus=focus is not None and focus.path == file.path,
    )
