"""Holds the answers and failures that the replies of both APIs are read as. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shared.events.model_calls import Channel
from shared.llm.client import ReplyCutShort, ReplyFailed, Request, Usage
from shared.llm.cost.estimates import estimate_tokens
from shared.llm.wire.refusals import ErrorBody, Refused
from shared.llm.wire.well_formed import well_formed

# A function that is called with the channel and the text of each piece of a streamed reply.
Watch = Callable[[Channel, str], None]

JUST_ENDS = "the reply just ends: the server did not say that it is complete"


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold a model's whole reply, usable or not; `usage` is `None` where the server omits it."""

    text: str
    reasoning: str
    model: str
    usage: Usage | None


def answer_usage(answer: Answer, request: Request) -> Usage:
    """Return the usage of the answer, estimated from its text where the server reports none.

    The cost is left out: prices are applied where usage is counted.
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
    """Return the failure for an `answer` that is not usable, with its usage."""
    return ReplyFailed(well_formed(message), answer_usage(answer, request))


def cut_short(answer: Answer, request: Request) -> ReplyCutShort:
    """Return the failure for an answer that reached its output limit, with its usage."""
    usage = answer_usage(answer, request)
    return ReplyCutShort(
        f"the reply reached its limit before it was complete, after {usage.output_tokens:,} tokens",
        usage,
    )


def error_document(error: Mapping[str, Any]) -> Refused:
    """Return the refusal in an error document that came under a good HTTP status."""
    code = error.get("code")
    message = error.get("message")
    status = code if type(code) is int and 400 <= code < 600 else 500
    if isinstance(code, str) and ("rate_limit" in code or "quota" in code):
        status = 429
    return Refused(status, ErrorBody(text=well_formed(str(message or "")), code=str(code or "")))


def count(value: object) -> int:
    """Return `value` as a number of tokens, or 0 where it is not a positive integer."""
    return value if type(value) is int and value > 0 else 0


def detail_count(details: object, name: str) -> int:
    """Return the count of `name` in the details of a usage, or 0 where it is missing."""
    return count(details.get(name)) if isinstance(details, Mapping) else 0


def text_of(value: object) -> str:
    """Return `value` where it is text, the joined texts of a list of content parts, else ""."""
    match value:
        case str():
            return value
        case list():
            return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
        case _:
            return ""
