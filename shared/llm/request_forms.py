"""The forms of request that servers accept, and what refusals teach of them.

A request starts in the form that serves best. Each refusal that names a part of the request leads
to a simpler form. A part that a model is known to refuse is never sent to it again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.llm import tool_calls
from shared.llm.budget import DEFAULT_OUTPUT_LIMIT, estimate_input
from shared.llm.model_client import Api, Request
from shared.llm.server_replies import Refusal, well_formed

_REFUSED_FORM = frozenset({400, 422})
_NO_SUCH_ENDPOINT = frozenset({404, 405, 501})
_TOOLS = re.compile(r"\b(?:tools?|function)\b")
_STREAMING = re.compile(r"\bstream(?:s|ed|ing)?\b")
_AT_MOST = re.compile(
    r"(?:at most|maximum(?: of| is)?|less than or equal to|<=|\d >) ?([\d,]{2,12})"
)
# Refusals by vLLM, present and past, and by Anthropic of a prompt and an output limit that together
# exceed the window. A server that did not count the whole prompt gives no number for `prompt`.
_WINDOW = r"maximum context length is (?P<window>\d+) tokens.{0,40} requested "
_OVER_WINDOW = (
    re.compile(r"\d > (?P<window>\d+) - (?P<prompt>\d+)"),
    re.compile(r"(?P<prompt>\d+) \+ \d+ > (?P<window>\d+)"),
    re.compile(_WINDOW + r"\d+ output tokens and your prompt contains (?P<prompt>\d+) input"),
    re.compile(_WINDOW + r"\d+ output tokens and your prompt contains "),
    re.compile(_WINDOW + r"(?P<both>\d+) tokens \(.{0,80}?(?P<reply>\d+) \w+ the completion"),
)


class Structure(StrEnum):
    """Represent how a request asks for the form of the reply, from the strictest to the loosest."""

    SCHEMA = "json_schema"
    TOOL = "a tool that has to be called"
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
    room: int | None = None
    """What the window leaves for the reply to this one request; it is not remembered."""
    stream: bool = True
    stream_usage: bool = True
    background: bool = True
    tools: bool = True
    thinking_budget: bool = False
    """Whether an effort is sent as a number of tokens, and not as a word."""
    is_other_thinking: bool = False
    """Whether that was learned: where it is refused as well, no effort is sent."""


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Represent a change of form, with a description of it."""

    quirks: Quirks
    words: str


# Anthropic's models take an effort as a word, and no temperature, from these versions on.
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?")
_WORDS_SINCE, _NO_TEMPERATURE_SINCE = (4, 6), (4, 7)
_TOKENS_OF_GEMINI = re.compile(r"gemini-[12]\b")


def native_quirks(api: Api, model: str) -> Quirks:
    """Return the form to begin with on the wire of Anthropic or Gemini.

    A reply is streamed whether anybody watches or not: it may take longer than a connection may be
    silent. What is known of a model's version saves a refusal; all else is learned.
    """
    quirks = Quirks(api, LimitName.MAX_TOKENS)
    if api is Api.GEMINI:
        return replace(quirks, thinking_budget=bool(_TOKENS_OF_GEMINI.search(model)))
    found = _CLAUDE.search(model)
    version = (int(found[1]), int(found[2] or 0)) if found else _NO_TEMPERATURE_SINCE
    return replace(
        quirks,
        thinking_budget=version < _WORDS_SINCE,
        temperature=version < _NO_TEMPERATURE_SINCE,
    )


def initial_quirks(api: Api, *, is_openai: bool, watched: bool = True) -> Quirks:
    """Return the form to begin with on OpenAI's wires.

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
    if (room := _room_left(request, blamed)) is not None:
        return _within_window(quirks, request, room)
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
    if quirks.reasoning_effort and request.reasoning_effort is not None and _blames(quirks, blamed):
        if quirks.api in _NATIVE:
            return _other_thinking(quirks, blamed)
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


_NATIVE = frozenset({Api.MESSAGES, Api.GEMINI})
_THINKING = re.compile(r"thinking|thought|effort")


def _blames(quirks: Quirks, blamed: str) -> bool:
    """Return whether a refusal is about how the model is to reason."""
    return "reasoning" in blamed or (quirks.api in _NATIVE and bool(_THINKING.search(blamed)))


def _other_thinking(quirks: Quirks, blamed: str) -> Adjustment:
    """Return the form without the summary where that is refused, then words for tokens or tokens
    for words, then none.
    """
    if quirks.reasoning_summary and re.search(r"display|include_?thoughts", blamed):
        words = "a summary of the reasoning was refused and is no longer asked for"
        return Adjustment(replace(quirks, reasoning_summary=False), words)
    if not quirks.is_other_thinking:
        tokens = not quirks.thinking_budget
        words = f"reasoning effort was refused; it is sent as {'tokens' if tokens else 'a word'}"
        return Adjustment(replace(quirks, thinking_budget=tokens, is_other_thinking=True), words)
    words = "reasoning effort was refused and is no longer sent"
    return Adjustment(replace(quirks, reasoning_effort=False), words)


def _blames_streaming(blamed: str, param: str) -> bool:
    """Return whether the refusal names `stream` as its parameter, or in its text without one."""
    return param == "stream" or (not param and _STREAMING.search(blamed) is not None)


def _room_left(request: Request, blamed: str) -> int | None:
    """Return the tokens that the window leaves for a reply; `None` if the refusal names none."""
    for form in _OVER_WINDOW:
        if found := form.search(blamed):
            said = {name: int(number) for name, number in found.groupdict("0").items()}
            prompt = said.get("prompt", said.get("both", 0) - said.get("reply", 0))
            return said["window"] - (prompt or estimate_input(request))
    return None


def _within_window(quirks: Quirks, request: Request, room: int) -> Adjustment | None:
    """Return the form with a limit that fits beside the prompt; `None` where no reply would."""
    limit = effective_limit(quirks, request)
    if limit is None or not 0 < room < limit or quirks.room is not None:
        return None
    words = f"the output limit was lowered to {room:,}, which the prompt leaves of the window"
    return Adjustment(replace(quirks, room=room), words)


def _other_limit(quirks: Quirks, request: Request, blamed: str) -> Adjustment | None:
    limit = _wanted_limit(quirks, request)
    if limit is None:
        return None
    name = quirks.limit_name if quirks.api in (Api.CHAT, Api.MESSAGES) else "max_output_tokens"
    if name not in blamed and "maxoutputtokens" not in blamed:
        return None
    most = _AT_MOST.search(blamed)
    largest = int(most[1].replace(",", "")) if most and most[1].strip(",") else None
    if largest is not None and 0 < largest < limit and largest != quirks.largest_limit:
        return Adjustment(
            replace(quirks, largest_limit=largest), f"the output limit was lowered to {largest:,}"
        )
    if quirks.api is Api.MESSAGES:
        return None
    if quirks.api is Api.CHAT:
        other = _OTHER_NAME[quirks.limit_name]
        return Adjustment(replace(quirks, limit_name=other), f"{other} is sent for {name}")
    return Adjustment(
        replace(quirks, output_limit=False), f"{name} was refused and is no longer sent"
    )


_STRUCTURE = re.compile(
    r"response_format|text\.format|json_schema|json_object|schema|grammar|output_config"
    r"|output_format|structured output|response_?mime_?type|tool_choice|forced? tool"
)


def _looser_structure(quirks: Quirks, request: Request, blamed: str) -> Adjustment | None:
    if request.reply_schema is None or not _STRUCTURE.search(blamed):
        return None
    match quirks.structure:
        case Structure.SCHEMA:
            looser = Structure.TOOL if quirks.api is Api.MESSAGES else Structure.OBJECT
        case Structure.TOOL | Structure.OBJECT:
            looser = Structure.PROMPT
        case Structure.PROMPT:
            return None
    return Adjustment(
        replace(quirks, structure=looser), f"{quirks.structure} was refused; {looser} is used"
    )


def effective_limit(quirks: Quirks, request: Request) -> int | None:
    """Return the output limit to send, within what the model allows; `None` to send no limit."""
    limits = (_wanted_limit(quirks, request), quirks.largest_limit, quirks.room)
    return None if limits[0] is None else min(each for each in limits if each is not None)


def _wanted_limit(quirks: Quirks, request: Request) -> int | None:
    limit = request.max_output_tokens
    if limit is None and quirks.api is Api.MESSAGES:
        limit = DEFAULT_OUTPUT_LIMIT  # this wire cannot do without one
    return limit if quirks.output_limit else None


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


NO_THINKING = frozenset({"none", "off", "disabled"})
"""The efforts by which a person asks for none."""
# Where a model takes a number of tokens to think in and no word, a word means this many.
_THINKING_TOKENS = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 32_768,
}


def thinking_tokens(effort: str, room: int) -> int:
    """Return how many tokens an effort means, at most half of the `room` for the whole reply."""
    return min(_THINKING_TOKENS.get(effort, _THINKING_TOKENS["medium"]), room // 2)
