"""Learns from refusals which form of request a server or a model accepts. Pure.

A request starts in the form that serves best. Each refusal that names a part of the request leads
to a simpler form. A part that a model is known to refuse is never sent to it again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.llm.client import Api, Request
from shared.llm.wire.refusals import Refused
from shared.llm.wire.well_formed import well_formed

_REFUSED_FORM = frozenset({400, 422})
_NO_SUCH_ENDPOINT = frozenset({404, 405, 501})
_STREAMING = re.compile(r"\bstream(?:s|ed|ing)?\b")
_AT_MOST = re.compile(r"(?:at most|maximum(?: of| is)?|less than or equal to|<=) ?([\d,]{2,12})")


class Structure(StrEnum):
    """Represent how a request asks for the form of the reply, from the strictest to the loosest."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    PROMPT = "prompt only"


class LimitName(StrEnum):
    """Represent the name of the output limit in a chat request."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


_OTHER_NAME = {
    LimitName.MAX_TOKENS: LimitName.MAX_COMPLETION_TOKENS,
    LimitName.MAX_COMPLETION_TOKENS: LimitName.MAX_TOKENS,
}


@dataclass(frozen=True, slots=True)
class Quirks:
    """Represent the form of requests to one model on one server. `True`: the part is sent."""

    api: Api
    limit_name: LimitName
    structure: Structure = Structure.SCHEMA
    temperature: bool = True
    reasoning_effort: bool = True
    reasoning_summary: bool = True
    output_limit: bool = True
    largest_limit: int | None = None
    stream: bool = True
    stream_usage: bool = True
    background: bool = True


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Represent a change of form, with a description of it."""

    quirks: Quirks
    words: str


def initial_quirks(api: Api, *, is_openai: bool, watched: bool = True) -> Quirks:
    """Return the form to begin with.

    A chat reply that nobody watches is not streamed. A reply of the Responses API is always
    streamed, because its stream can be resumed where it breaks.

    OpenAI's current models require the newer name of the output limit. Other servers may silently
    ignore that name, which would leave their output unbounded, so they get the older name.
    """
    limit = LimitName.MAX_COMPLETION_TOKENS if is_openai else LimitName.MAX_TOKENS
    return Quirks(api=api, limit_name=limit, stream=watched or api is Api.RESPONSES)


def adjusted(quirks: Quirks, request: Request, refused: Refused) -> Adjustment | None:
    """Return the form to try after `refused`, or `None` where no other form is known to help."""
    if quirks.api is Api.RESPONSES and _has_no_responses(refused):
        return Adjustment(
            replace(quirks, api=Api.CHAT),
            "the server has no Responses API; Chat Completions is used",
        )
    if refused.status not in _REFUSED_FORM:
        return None
    blamed = f"{refused.body.param} {refused.body.text}".lower()
    return (
        _without_parameter(quirks, request, refused, blamed)
        or _other_limit(quirks, request, blamed)
        or _looser_structure(quirks, request, blamed)
    )


def _has_no_responses(refused: Refused) -> bool:
    """Return whether the endpoint is missing, and not the model.

    Both refusals may be a 404, but only that of a missing model names the model.
    """
    said = f"{refused.body.code} {refused.body.param} {refused.body.text}".lower()
    return refused.status in _NO_SUCH_ENDPOINT and "model" not in said


def _without_parameter(
    quirks: Quirks, request: Request, refused: Refused, blamed: str
) -> Adjustment | None:
    def dropped(changed: Quirks, name: str) -> Adjustment:
        return Adjustment(changed, f"{name} was refused and is no longer sent")

    if quirks.temperature and request.temperature is not None and "temperature" in blamed:
        return dropped(replace(quirks, temperature=False), "temperature")
    if quirks.reasoning_effort and request.reasoning_effort is not None and "reasoning" in blamed:
        if quirks.api is Api.RESPONSES and quirks.reasoning_summary and "summar" in blamed:
            return dropped(replace(quirks, reasoning_summary=False), "reasoning summary")
        return dropped(replace(quirks, reasoning_effort=False), "reasoning effort")
    if quirks.api is Api.CHAT and quirks.stream_usage and "stream_options" in blamed:
        return dropped(replace(quirks, stream_usage=False), "stream_options")
    if quirks.stream and _blames_streaming(blamed, refused.body.param):
        words = "streaming was refused: replies are no longer shown as they come"
        return Adjustment(replace(quirks, stream=False), words)
    if (
        quirks.api is Api.RESPONSES
        and quirks.background
        and ("background" in blamed or "store" in blamed)
    ):
        return dropped(replace(quirks, background=False), "background")
    return None


def _blames_streaming(blamed: str, param: str) -> bool:
    """Return whether the refusal names `stream` as its parameter, or in its text without one."""
    return param == "stream" or (not param and _STREAMING.search(blamed) is not None)


def _other_limit(quirks: Quirks, request: Request, blamed: str) -> Adjustment | None:
    limit = request.max_output_tokens
    if limit is None or not quirks.output_limit:
        return None
    name = quirks.limit_name if quirks.api is Api.CHAT else "max_output_tokens"
    if name not in blamed:
        return None
    most = _AT_MOST.search(blamed)
    largest = int(most[1].replace(",", "")) if most and most[1].strip(",") else None
    if largest is not None and 0 < largest < limit and largest != quirks.largest_limit:
        return Adjustment(
            replace(quirks, largest_limit=largest), f"the output limit was lowered to {largest:,}"
        )
    if quirks.api is Api.CHAT:
        other = _OTHER_NAME[quirks.limit_name]
        return Adjustment(replace(quirks, limit_name=other), f"{other} is sent for {name}")
    return Adjustment(
        replace(quirks, output_limit=False), f"{name} was refused and is no longer sent"
    )


def _looser_structure(quirks: Quirks, request: Request, blamed: str) -> Adjustment | None:
    telling = ("response_format", "text.format", "json_schema", "json_object", "schema", "grammar")
    if request.reply_schema is None or not any(word in blamed for word in telling):
        return None
    match quirks.structure:
        case Structure.SCHEMA:
            looser = Structure.OBJECT
        case Structure.OBJECT:
            looser = Structure.PROMPT
        case Structure.PROMPT:
            return None
    return Adjustment(
        replace(quirks, structure=looser), f"{quirks.structure} was refused; {looser} is used"
    )


def effective_limit(quirks: Quirks, request: Request) -> int | None:
    """Return the output limit to send, within what the model allows; `None` to send no limit."""
    limit = request.max_output_tokens
    if limit is None or not quirks.output_limit:
        return None
    return limit if quirks.largest_limit is None else min(limit, quirks.largest_limit)


def prompt_for(quirks: Quirks, request: Request) -> str:
    """Return the prompt, with the schema spelled out where the server does not enforce it."""
    prompt = well_formed(request.prompt)
    if request.reply_schema is None or quirks.structure is Structure.SCHEMA:
        return prompt
    schema = json.dumps(request.reply_schema.schema, separators=(",", ":"))
    return (
        f"{prompt.rstrip()}\n\nReply with one JSON object and nothing else. "
        f"It must follow this JSON schema:\n{schema}\n"
    )
