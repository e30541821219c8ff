"""Answers and refusals of servers, and the forms of request that they accept.

A request starts in the form that serves best. Each refusal that names a part of the request leads
to a simpler form. A part that a model is known to refuse is never sent to it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from shared.errors import LlmchError, ModelUnavailable
from shared.events.events import Channel
from shared.llm import tool_calls
from shared.llm.budget import asked_text, estimate_tokens, least_tokens
from shared.llm.model_client import Api, ReplyCutShort, ReplyFailed, Request, ToolCall, Usage


def well_formed(text: str) -> str:
    """Return `text` with pairs of surrogates joined and lone ones replaced by U+FFFD.

    A server that cuts its reply into pieces may cut a character in two; joined, the halves are one
    again. Text without surrogates costs one encoding.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_LONGEST_QUOTE = 500
_MAY_PASS = frozenset({408, 409, 425, 429})
_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})


class Unreachable(Exception):
    """Raised when no answer came: nothing listens, or the connection broke before the answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Hold what an error answer says about itself. A field is empty if the answer lacks it."""

    text: str
    code: str = ""
    param: str = ""


class Refusal(Exception):
    """Raised when a server answered with an error status.

    `retry_after` is the wait in seconds that the server asks for, `None` if it names none.
    """

    def __init__(self, status: int, body: ErrorBody, retry_after: float | None = None) -> None:
        self.status = status
        self.body = body
        self.retry_after = retry_after
        self.message = f"HTTP {status}" + (f": {body.text}" if body.text else "")
        super().__init__(self.message)

    @property
    def may_pass(self) -> bool:
        """Return whether the same request may succeed later; an empty account stays empty."""
        transient = self.status in _MAY_PASS or self.status >= 500
        return transient and self.body.code not in _NO_MONEY


def parse_error_body(body: object, clean: Callable[[str], str] = str) -> ErrorBody:
    """Return what `body` says, which is parsed JSON or text. Servers wrap errors in many ways.

    `clean` is applied before a text is cut: half of a secret would not be recognised.
    """
    match body:
        case {"error": inner}:
            return parse_error_body(inner, clean)
        case {"detail": inner}:
            return ErrorBody(_quote(inner, clean))
        case {"message": message, **rest}:
            return ErrorBody(
                _quote(message, clean), _word(rest, "code", "type"), _word(rest, "param")
            )
        case _:
            return ErrorBody("" if body is None else _quote(body, clean))


def final_error(refused: Refusal, model: str, server: str) -> LlmchError | ReplyFailed:
    """Return the error for a refusal that neither waiting nor another form of request resolves."""
    body = refused.body
    said = f" ({body.text})" if body.text else ""
    if body.code in _FILTERED:
        return ReplyFailed(f"the server refused the prompt by its content policy{said}")
    if body.code in _NO_MONEY or refused.status == 402:
        return ModelUnavailable(
            f"the account at {server} has no quota left{said}",
            hint="check the plan and billing of the account, or use another key or server",
        )
    if refused.status in (401, 403):
        return ModelUnavailable(
            f"the model server at {server} refused the key{said}",
            hint="check OPENAI_API_KEY, and that the key may use this model",
        )
    if body.code in _TOO_LONG or refused.status == 413 or "context length" in body.text.lower():
        return ModelUnavailable(
            f"the prompt does not fit the context of {model}{said}",
            hint="use a model with a longer context, or a smaller spec or fewer context files",
        )
    if refused.status == 404:
        return ModelUnavailable(
            f"the model server at {server} does not know {model} or this endpoint{said}",
            hint="check the model's name and OPENAI_BASE_URL (it usually ends in /v1)",
        )
    return ModelUnavailable(
        f"the model server at {server} refused the request: {refused.message}",
        hint="check the model's name and the settings of the call",
    )


def _quote(value: Any, clean: Callable[[str], str] = str) -> str:
    text = clean(well_formed(" ".join(str(value).split())))
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."


def _word(document: Mapping[Any, Any], *names: str) -> str:
    values = (document.get(name) for name in names)
    return next((str(value) for value in values if value), "")


# A function that is called with the channel and the text of each piece of a streamed reply.
Watch = Callable[[Channel, str], None]

JUST_ENDS = "the reply just ends: the server did not say that it is complete"


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold a model's whole reply, usable or not; `usage` is `None` if the server omits it.

    `document` is the body of the reply to an agent's call.
    """

    text: str
    reasoning: str
    model: str
    usage: Usage | None
    document: str = ""
    calls: tuple[ToolCall, ...] = ()


def answer_usage(answer: Answer, request: Request) -> Usage:
    """Return the usage of the answer: what the server reports, as far as that can be true.

    What it does not report is estimated, and what it reports too low is raised to the least that
    the texts can take: caps must end a run also where a server lies. The cost is left out: prices
    are applied where usage is counted.
    """
    reported = answer.usage or Usage()
    asked, said = reported.input_tokens, reported.output_tokens
    input_tokens = _believable(asked, asked_text(request))
    output_tokens = _believable(said, answer.reasoning + answer.text)
    return Usage(
        calls=1,
        input_tokens=input_tokens,
        cached_tokens=min(reported.cached_tokens, input_tokens),
        output_tokens=output_tokens,
        reasoning_tokens=min(reported.reasoning_tokens, output_tokens),
        cost_usd=None,
        estimated_calls=int((input_tokens, output_tokens) != (asked, said)),
    )


# Images and sealed reasoning in an agent's call, which take fewer tokens than their letters would.
_SEALED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{512,}")


def _believable(reported: int, text: str) -> int:
    """Return the tokens of `text`; `reported` is 0 where the server gives no usable number."""
    if not reported:
        return estimate_tokens(text) if text else 0
    if reported >= least_tokens(text):
        return reported
    return max(reported, least_tokens(_SEALED.sub("", text)))


# As long as a log may be.
_LONGEST_LOST = 8 * 1024 * 1024


def lost_text(reasoning: str, text: str) -> tuple[str, ...]:
    """Return what came of a reply that cannot be used, as it is kept; nothing if nothing came."""
    said = well_formed("\n".join(filter(None, (reasoning, text))))
    return (said[:_LONGEST_LOST],) if said else ()


def failed(answer: Answer, request: Request, message: str) -> ReplyFailed:
    """Return the failure for an `answer` that is not usable, with its usage."""
    lost = lost_text(answer.reasoning, answer.text)
    return ReplyFailed(_quote(message), answer_usage(answer, request), lost=lost)


def cut_short(answer: Answer, request: Request) -> ReplyCutShort:
    """Return the failure for an answer that reached its output limit, with its usage."""
    usage = answer_usage(answer, request)
    return ReplyCutShort(
        f"the reply reached its limit before it was complete, after {usage.output_tokens:,} tokens",
        usage,
        lost=lost_text(answer.reasoning, answer.text),
    )


def error_document(error: Mapping[str, Any]) -> Refusal:
    """Return the refusal in an error document that came under a good HTTP status."""
    code = error.get("code")
    message = error.get("message")
    status = code if type(code) is int and 400 <= code < 600 else 500
    if isinstance(code, str) and ("rate_limit" in code or "quota" in code):
        status = 429
    return Refusal(status, ErrorBody(text=_quote(message or ""), code=_quote(code or "")))


# A hundred times the largest window of any model: more is a mistake or a lie.
_MOST_TOKENS = 100_000_000


def count(value: object) -> int:
    """Return `value` as a number of tokens, or 0 where it cannot be one."""
    return value if type(value) is int and 0 < value <= _MOST_TOKENS else 0


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


_REFUSED_FORM = frozenset({400, 422})
_NO_SUCH_ENDPOINT = frozenset({404, 405, 501})
_TOOLS = re.compile(r"\b(?:tools?|function)\b")
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
    tools: bool = True


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


def adjusted(quirks: Quirks, request: Request, refused: Refusal) -> Adjustment | None:
    """Return the form to try after `refused`, or `None` if no other form is known to help."""
    if quirks.api is Api.RESPONSES and has_no_endpoint(refused):
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


def has_no_endpoint(refused: Refusal) -> bool:
    """Return whether the endpoint is missing, and not the model.

    Both refusals may be a 404, but only that of a missing model names the model.
    """
    said = f"{refused.body.code} {refused.body.param} {refused.body.text}".lower()
    return refused.status in _NO_SUCH_ENDPOINT and "model" not in said


def _without_parameter(
    quirks: Quirks, request: Request, refused: Refusal, blamed: str
) -> Adjustment | None:
    def dropped(changed: Quirks, name: str) -> Adjustment:
        return Adjustment(changed, f"{name} was refused and is no longer sent")

    if request.tools and tools_are_sent(quirks, request) and _TOOLS.search(blamed):
        words = "tools were refused: they are described in the prompt"
        return Adjustment(replace(quirks, tools=False), words)
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


def tools_are_sent(quirks: Quirks, request: Request) -> bool:
    """Return whether tools and exchanges have their own places, which they need if there are any.

    Otherwise the prompt has them.
    """
    any_tools = bool(request.tools or request.exchanges)
    return not any_tools or (quirks.tools and not request.tools_in_text)


def prompt_for(quirks: Quirks, request: Request) -> str:
    """Return the prompt, with the schema spelled out where the server does not enforce it."""
    prompt = well_formed(request.prompt)
    if not tools_are_sent(quirks, request):
        prompt = tool_calls.as_text(request, prompt)
    if request.reply_schema is None or quirks.structure is Structure.SCHEMA:
        return prompt
    schema = json.dumps(request.reply_schema.schema, separators=(",", ":"))
    return (
        f"{prompt.rstrip()}\n\nReply with one JSON object and nothing else. "
        f"It must follow this JSON schema:\n{schema}\n"
    )
