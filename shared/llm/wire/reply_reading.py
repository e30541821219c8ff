"""What both APIs' replies come to, before it is known whether they are of use. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shared.events import Channel
from shared.llm.client import ReplyCutShort, ReplyFailed, Request, Usage
from shared.llm.cost.estimates import estimate_tokens
from shared.llm.wire.refusals import ErrorBody, Refused
from shared.llm.wire.well_formed import well_formed

# Called with the channel and the text of each piece of a streamed reply.
Watch = Callable[[Channel, str], None]

JUST_ENDS = "the reply just ends: the server did not say that it is complete"


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's whole reply, of use or not. `usage` is `None` where the server names none."""

    text: str
    reasoning: str
    model: str
    usage: Usage | None


def answer_usage(answer: Answer, request: Request) -> Usage:
    """Return what the answer took, estimated from its text where the server does not say.

    What it costs is left open: prices are applied where usage is counted.
    """
    if answer.usage is not None:
        return replace(answer.usage, cost_usd=None)
    return Usage(
        calls=1,
        input_tokens=estimate_tokens(request.prompt),
        output_tokens=estimate_tokens(answer.reasoning + answer.text),
        cost_usd=None,
    )


def failed(answer: Answer, request: Request, message: str) -> ReplyFailed:
    """Return the failure that `answer` is, with what it took."""
    return ReplyFailed(well_formed(message), answer_usage(answer, request))


def cut_short(answer: Answer, request: Request) -> ReplyCutShort:
    """Return the failure of an answer that ran into its limit."""
    usage = answer_usage(answer, request)
    return ReplyCutShort(
        f"the reply reached its limit before it was complete, after {usage.output_tokens:,} tokens",
        usage,
    )


def error_document(error: Mapping[str, Any]) -> Refused:
    """Return the refusal that came as a document, under a good HTTP status."""
    code = error.get("code")
    message = error.get("message")
    status = code if type(code) is int and 400 <= code < 600 else 500
    if isinstance(code, str) and ("rate_limit" in code or "quota" in code):
        status = 429
    return Refused(status, ErrorBody(text=well_formed(str(message or "")), code=str(code or "")))


def count(value: object) -> int:
    """Return `value` as a number of tokens; 0 for whatever is none."""
    return value if type(value) is int and value > 0 else 0


def detail_count(details: object, name: str) -> int:
    """Return the count of `name` in the details of a usage, 0 where there is none."""
    return count(details.get(name)) if isinstance(details, Mapping) else 0


def text_of(value: object) -> str:
    """Return `value` where it is text, or the texts of a list of content parts, else nothing."""
    match value:
        case str():
            return value
        case list():
            return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
        case _:
            return ""
