"""Knows the wires that agents speak: cleans their calls, and reads the replies to them.

What is kept of a call is listed; all else is removed and named. Nothing is kept that a server would
run, fetch, store or remember.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from shared.llm.budget import DEFAULT_OUTPUT_LIMIT
from shared.llm.model_client import Api, ReplyBroken, ReplyFailed, Request
from shared.llm.reply_bodies import (
    EVENT_STREAM,
    HttpReply,
    bounded,
    event_document,
    iter_event_data,
    iter_events,
    parse_document,
)
from shared.llm.request_forms import Quirks, effective_limit
from shared.llm.server_apis import usage_of
from shared.llm.server_replies import (
    JUST_ENDS,
    Answer,
    answer_usage,
    compact_json,
    error_document,
    text_of,
)


class CallRefused(Exception):
    """Raised for a call that is not sent; `words` say why, to the agent and in the record."""

    def __init__(self, words: str, status: int = 400) -> None:
        super().__init__(words)
        self.words, self.status = words, status


@dataclass(frozen=True, slots=True)
class Wire:
    """Hold what llmch knows of a wire: its names, and the parts of a call that are kept.

    `settings` are kept below `generationConfig`. `remembers` names the parts by which a server goes
    on with what it keeps; a call with one is refused. `headers` are those in which the key is sent
    beside the usual one, and a version.
    """

    name: str
    api: Api
    kept: frozenset[str]
    remembers: frozenset[str] = frozenset()
    settings: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)


def names(text: str) -> frozenset[str]:
    """Return the names in a text, which blanks separate."""
    return frozenset(text.split())


CHAT: Final = Wire(
    "Chat Completions",
    Api.CHAT,
    names(
        "messages tools tool_choice parallel_tool_calls functions function_call response_format "
        "stop stream stream_options top_p seed presence_penalty frequency_penalty logit_bias "
        "logprobs top_logprobs verbosity"
    ),
)
RESPONSES: Final = Wire(
    "Responses",
    Api.RESPONSES,
    names("input instructions tools tool_choice parallel_tool_calls text stream top_p reasoning"),
    names("previous_response_id conversation prompt"),
)
MESSAGES: Final = Wire(
    "Anthropic Messages",
    Api.CHAT,
    names("messages system tools tool_choice stop_sequences stream top_p top_k thinking"),
    names("container"),
    headers={"x-api-key": "", "anthropic-version": "2023-06-01"},
)
GEMINI: Final = Wire(
    "Gemini",
    Api.CHAT,
    names("contents systemInstruction tools toolConfig generationConfig safetySettings"),
    names("cachedContent cached_content"),
    names(
        "stopSequences responseMimeType responseSchema responseJsonSchema topP topK seed "
        "presencePenalty frequencyPenalty thinkingConfig"
    ),
    {"x-goog-api-key": ""},
)

_ROUTES = {"/v1/chat/completions": CHAT, "/v1/responses": RESPONSES, "/v1/messages": MESSAGES}
_GEMINI_ROUTE = re.compile(r"/v1beta/models/[\w.:-]{1,100}?:((?:streamG|g)enerateContent)")
_STREAMED = "streamGenerateContent"


def find_wire(path: str) -> tuple[Wire, str]:
    """Return the wire of a path, and its route: the path without model and query.

    Raises `CallRefused` where the relay has no such route.
    """
    route, _, query = path.partition("?")
    if wire := _ROUTES.get(route):
        return wire, route
    if found := _GEMINI_ROUTE.fullmatch(route):
        if found[1] == _STREAMED and "alt=sse" not in query.split("&"):
            raise CallRefused("a stream is relayed as events alone: ask for it by ?alt=sse", 404)
        return GEMINI, f"/v1beta/models/:{found[1]}"
    raise CallRefused(f"the relay has no such route; it has POST {', '.join(_ROUTES)}", 404)


def wire_of(route: str) -> Wire:
    """Return the wire of a route that `find_wire` gave."""
    return _ROUTES.get(route, GEMINI)


@dataclass(frozen=True, slots=True)
class Call:
    """Hold an agent's call once it is clean: the body that is kept, and what is set by llmch.

    Where the agent asks for a limit, a temperature or an effort, they are here, not in the body.
    `turns` is the conversation in the body.
    """

    body: str
    turns: Any
    is_streamed: bool
    model: str = ""
    limit: int | None = None
    temperature: float | None = None
    effort: str | None = None


_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
_SET = frozenset({*_LIMITS, "model", "temperature", "reasoning_effort", "store"})
_SAID = ("messages", "input", "contents", "system", "systemInstruction")


def clean_call(wire: Wire, route: str, source: bytes, name: Callable[[str], None]) -> Call:
    """Return what is sent of a call. `name` is called with the words for each part that is not.

    Raises `CallRefused` if the body is not a JSON object, or goes on with what a server keeps.
    """
    try:
        return _clean_call(wire, route, _parse(source), name)
    except RecursionError:
        raise CallRefused(NESTED) from None


NESTED: Final = "the call's body is nested too deep"


def _clean_call(
    wire: Wire, route: str, document: Mapping[str, Any], name: Callable[[str], None]
) -> Call:
    for part in wire.remembers:
        if document.get(part):
            raise CallRefused(f"{part} names what a server keeps; each call has to hold all of it")
    settings = document.get("generationConfig")
    asked = {**document, **settings} if isinstance(settings, dict) else document
    body = _kept(document, wire.kept, "", name)
    if "generationConfig" in body:
        body["generationConfig"] = _kept(settings, wire.settings, "generationConfig.", name)
    reasoning = body.get("reasoning")
    effort = asked.get("reasoning_effort")
    if isinstance(reasoning, dict):
        effort = reasoning.get("effort")
        body["reasoning"] = {key: each for key, each in reasoning.items() if key == "summary"}
    _take_tools(body, name)
    _take_include(document, body)
    for part in _SAID:
        if part in body:
            body[part] = _cleaned(wire, body[part], name, top=part == "input")
    limits = [each for each in map(asked.get, _LIMITS) if type(each) is int and each > 0]
    warmth = asked.get("temperature")
    temperature = warmth if type(warmth) in (int, float) else None
    return Call(
        body=compact_json(body),
        turns=next(filter(None, map(body.get, _CONVERSATIONS)), None),
        is_streamed=body.get("stream") is True or route.endswith(_STREAMED),
        model=text_of(document.get("model")),
        limit=min(limits, default=None),
        temperature=temperature if temperature is not None and 0 <= temperature <= 2 else None,
        effort=effort if isinstance(effort, str) else None,
    )


_CONVERSATIONS = ("messages", "input", "contents")
# What differs between equal turns: what joins a call to its result, seals, marks for a cache.
_LABELS = names(
    "id call_id tool_call_id tool_use_id signature thoughtSignature encrypted_content "
    "reasoning_details cache_control"
)
_OF_TOOLS = names("input args arguments response")
_VOLATILE = re.compile(
    r"(?<![\d.])\d+(?:\.\d+)?(?= ?(?:m?s|sec(?:ond)?s?)\b)|(?<=duration_ms )[\d.]+"
    r"|(?<!\d)\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?!\d)|\b0x[0-9a-f]{6,16}\b"
)
# To look again after some time is no circle; the minutes of an attempt bound it.
_WAITS = re.compile(r"\b(?:sleep|wait|poll|write_stdin)", re.IGNORECASE)
_MOST_TURNS = 8  # in one round, as where a model goes to and fro between four commands
MOST_ROUNDS: Final = 6
"""How often an agent may say the same and get the same in a row."""


def goes_in_circles(turns: Any, stable: Callable[[str], str] = str) -> bool:
    """Return whether a conversation ends with its last round over and over.

    A round is what the model said and what came of it, in up to eight turns. Ids may differ, the
    durations and times of what came, and what `stable` takes from the compact JSON of a turn. A
    round in which the model waits for something is none.
    """
    if not isinstance(turns, list):
        return False
    last = turns[: -_MOST_TURNS * MOST_ROUNDS - 1 : -1]

    @cache
    def text(at: int) -> str:
        bare = _without_labels(last[at])
        plain = json.dumps(bare, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        plain = stable(plain)
        return plain if _is_said(last[at]) else _VOLATILE.sub("", plain)

    def is_circle(size: int) -> bool:
        said = [at for at in range(size) if _is_said(last[at])]
        return (
            0 < len(said) < size
            and all(text(at) == text(at % size) for at in range(size, size * MOST_ROUNDS))
            and not any(_WAITS.search(text(at)) for at in said)
        )

    try:
        return any(map(is_circle, range(2, min(_MOST_TURNS, len(last) // MOST_ROUNDS) + 1)))
    except RecursionError:  # an agent may nest what it says as deep as it likes
        return False


def _without_labels(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_labels(each) for each in node]
    if isinstance(node, dict):
        return {
            name: each if name in _OF_TOOLS else _without_labels(each)
            for name, each in node.items()
            if name not in _LABELS
        }
    return node


def _is_said(turn: Any) -> bool:
    """Return whether the model said a turn; it may be only a call of a tool, without a role."""
    if not isinstance(turn, dict):
        return False
    if "role" in turn:
        return turn["role"] in ("assistant", "model")
    return not str(turn.get("type")).endswith("_output")


def _parse(source: bytes) -> dict[str, Any]:
    def finite(text: str) -> float:
        if math.isfinite(value := float(text)):
            return value
        raise ValueError(text)

    try:
        document = json.loads(source, parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError):
        raise CallRefused("the call's body is not JSON") from None
    if not isinstance(document, dict):
        raise CallRefused("the call's body is not a JSON object")
    return document


def _kept(
    document: Any, kept: frozenset[str], where: str, name: Callable[[str], None]
) -> dict[str, Any]:
    """Return the parts of an object that are kept; a part without a value needs no word."""
    if not isinstance(document, dict):
        return {}
    for part, value in document.items():
        if value and part not in kept | _SET | {"include"}:
            name(f"{where}{short_name(part)} was removed from calls")
    return {part: value for part, value in document.items() if part in kept and value is not None}


def short_name(text: str) -> str:
    """Return the name of a part, which an agent chose, fit for a record."""
    return re.sub(r"[^\w.:/ -]", "?", text)[:60]


# They are carried out by the agent. All others are carried out by the server.
_OWN_TOOL = re.compile(r"function|custom|local_shell|apply_patch|(?:bash|text_editor|memory)_\d+")
_TOOL_PARTS = names(
    "type function custom name description parameters strict format input_schema cache_control "
    "max_characters functionDeclarations"
)


# How a tool may be chosen, and the kinds of tools that may be chosen by name.
_CHOICES = names("None auto none required any function custom tool")


def _take_tools(body: dict[str, Any], name: Callable[[str], None]) -> None:
    """Keep the tools that the agent itself carries out."""
    if "tools" not in body:
        return
    given = body["tools"] if isinstance(body["tools"], list) else [body["tools"]]
    kept = []
    for tool in given:
        parts = tool if isinstance(tool, dict) else {}
        kind = parts.get("type")
        if kind is None and parts.keys() & {"functionDeclarations", "input_schema"}:
            is_own, hosted = True, sorted(parts.keys() - _TOOL_PARTS)
        else:
            is_own = isinstance(kind, str) and bool(_OWN_TOOL.fullmatch(kind))
            hosted = [] if is_own else [text_of(kind)] if kind else sorted(parts)
        for each in hosted:
            name(f"the tool {short_name(each)}, which the server would carry out, was removed")
        if is_own:
            kept.append({part: value for part, value in parts.items() if part in _TOOL_PARTS})
    body["tools"] = kept
    chosen = body.get("tool_choice")
    choice = chosen.get("type", "") if isinstance(chosen, dict) else chosen
    if not kept or str(choice) not in _CHOICES:
        for part in ("tool_choice", "parallel_tool_calls", *(() if kept else ("tools",))):
            body.pop(part, None)


def _take_include(document: Mapping[str, Any], body: dict[str, Any]) -> None:
    """Keep the wish for reasoning that the client holds: without it, a server has to keep it."""
    wanted = "reasoning.encrypted_content"
    if isinstance(given := document.get("include"), list) and wanted in given:
        body["include"] = [wanted]


# A server reads these from the call itself.
_PARTS = names(
    "text image_url input_audio file refusal input_text output_text input_image input_file "
    "summary_text reasoning_text image document tool_use tool_result thinking redacted_thinking "
    "message function_call function_call_output custom_tool_call custom_tool_call_output reasoning "
    "local_shell_call local_shell_call_output apply_patch_call apply_patch_call_output"
)
# Parts without a type: messages, and the parts of Gemini.
_UNTYPED = names(
    "role content name tool_calls tool_call_id function_call refusal reasoning_content reasoning "
    "reasoning_details "
    "cache_control parts text inlineData functionCall functionResponse thought thoughtSignature "
    "response id phase"
)
_DEEPER = names("content output parts functionResponse")
# An agent's own data, in which a URL is nothing but text.
_DATA = names("text arguments args input response functionCall tool_calls summary") | _DEEPER


def _cleaned(wire: Wire, node: Any, name: Callable[[str], None], *, top: bool = False) -> Any:
    """Return what is said in a call without what a server would fetch or has carried out."""
    if isinstance(node, list):
        return [_cleaned(wire, each, name, top=top) for each in node]
    if not isinstance(node, dict):
        return node
    kind = node.get("type")
    if kind == "item_reference":
        raise CallRefused("item_reference names what a server keeps; a call has to hold all of it")
    if kind is None and not node.keys() <= _UNTYPED:
        for part in node.keys() - _UNTYPED:
            name(f"a part {short_name(part)} was removed from messages")
        node = {part: value for part, value in node.items() if part in _UNTYPED}
    what = "" if node else "its content"
    if kind is not None and str(kind) not in _PARTS:
        what = f"a part of type {short_name(str(kind))}"
    for part, value in node.items():
        if part not in _DATA and _is_outside(part, value):
            what = f"{part}, which names what a server would fetch"
    if what:
        name(f"{what} was removed from messages")
        return _words(wire, f"[{what} was removed: this call can reach nothing outside it]", top)
    deeper = [part for part in _DEEPER if isinstance(node.get(part), list | dict)]
    return {**node, **{part: _cleaned(wire, node[part], name) for part in deeper}}


def _is_outside(name: str, value: Any) -> bool:
    if isinstance(value, dict):
        return any(_is_outside(part, each) for part, each in value.items())
    if name in ("image_url", "url", "file_data"):
        inline = name == "file_data" and not re.match(r"\s*[\w+.-]+:|/", str(value))
        return bool(value) and not inline and not str(value).startswith("data:")
    return name in ("file_id", "file_url", "fileUri", "file_uri") and bool(value)


def _words(wire: Wire, words: str, top: bool) -> dict[str, Any]:
    if wire is GEMINI:
        return {"text": words}
    part = {"type": "input_text" if wire is RESPONSES else "text", "text": words}
    return {"type": "message", "role": "user", "content": [part]} if top else part


def sent_body(request: Request, quirks: Quirks) -> bytes:
    """Return the body that a server gets: the agent's, with what llmch sets, as `quirks` allow."""
    assert request.relayed is not None
    text = request.relayed.body
    body: dict[str, Any] = json.loads(text)
    document = _completed(request, quirks, dict(body))
    added = {part: each for part, each in document.items() if part not in body}
    if body and added and all(document.get(part) is each for part, each in body.items()):
        # A conversation is long, and to write it once more takes longer than to read it.
        return f"{text[:-1]},{compact_json(added)[1:]}".encode()
    return compact_json(document).encode()


def _completed(request: Request, quirks: Quirks, body: dict[str, Any]) -> dict[str, Any]:
    assert request.relayed is not None
    wire = wire_of(request.relayed.route)
    limit = effective_limit(quirks, request)
    given: dict[str, Any] = {"model": request.model}
    if request.temperature is not None and quirks.temperature:
        given["temperature"] = request.temperature
    effort = request.reasoning_effort if quirks.reasoning_effort else None
    if wire is GEMINI:
        del given["model"]  # it is in the path
        given |= {} if limit is None else {"maxOutputTokens": limit}
        return {**body, "generationConfig": {**body.get("generationConfig", {}), **given}}
    if wire is MESSAGES:
        return body | given | {"max_tokens": limit or DEFAULT_OUTPUT_LIMIT}
    if wire is RESPONSES:
        given |= {"store": False} | ({} if limit is None else {"max_output_tokens": limit})
        reasoning = body.pop("reasoning", {})
        if not (quirks.reasoning_summary and quirks.reasoning_effort):
            reasoning = {}
        if reasoning := reasoning | ({"effort": effort} if effort else {}):
            given["reasoning"] = reasoning
        return body | given
    given |= {} if limit is None else {quirks.limit_name.value: limit}
    given |= {"reasoning_effort": effort} if effort else {}
    body.pop("stream_options", None)
    if body.get("stream") is True and quirks.stream_usage:
        given["stream_options"] = {"include_usage": True}
    return body | given


def sent_path(request: Request) -> str:
    """Return the path below the server's address to which a call is sent."""
    assert request.relayed is not None
    head, found, action = request.relayed.route.partition("/models/:")
    if not found:
        return head
    model = quote(request.model.removeprefix("models/"), safe="")
    return f"{head}/models/{model}:{action}" + ("?alt=sse" * (action == _STREAMED))


@dataclass(slots=True)
class _Reply:
    """Collect what the documents of a reply say: its text, its usage, and whether it ended."""

    said: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    has_ended: bool = False

    def take(self, document: Mapping[str, Any]) -> None:
        for each in (document, document.get("response"), document.get("message")):
            if isinstance(each, Mapping):
                self.model = text_of(each.get("model") or each.get("modelVersion")) or self.model
                usage = each.get("usage") or each.get("usageMetadata")
                # The last event of Anthropic's wire may have `null` for what the first has counted.
                known = usage.items() if isinstance(usage, dict) else ()
                self.usage |= {part: each for part, each in known if each is not None}
        kind = text_of(document.get("type"))
        if not kind.endswith((".done", ".added", ".completed", ".incomplete")):
            self.said += filter(None, _said(document))
        match document:
            case {"choices": [{"finish_reason": str()}, *_]}:
                self.has_ended = True
            case {"candidates": [{"finishReason": str()}, *_]}:
                self.has_ended = True
            case {"type": "response.completed" | "response.incomplete" | "response.failed"}:
                self.has_ended = True
            case {"type": "message_stop"}:
                self.has_ended = True
            case _:
                pass

    def answer(self, request: Request, document: str) -> Answer:
        usage = usage_of(self.usage)
        return Answer("".join(self.said), "", self.model or request.model, usage, document)


# Where the texts are that a model wrote, and the objects and lists that hold such.
_SAYS = names("content text reasoning_content reasoning arguments delta partial_json thinking")
_HOLDS = names(
    "choices message delta candidates content parts output tool_calls function content_block "
    "functionCall"
)


def _said(node: Any) -> Iterator[str]:
    """Yield the texts of a document that a model wrote, arguments of tools among them."""
    if isinstance(node, list):
        for each in node:
            yield from _said(each)
    elif isinstance(node, dict):
        for name, value in node.items():
            if isinstance(value, str):
                if name in _SAYS:
                    yield value
            elif name in _HOLDS:
                yield from _said(value)
            elif name in ("args", "input"):
                yield json.dumps(value)


def read_relayed(reply: HttpReply, request: Request, clean: Callable[[str], str]) -> Answer:
    """Return a reply as it is passed to the agent; `clean` removes secrets.

    Each event but the last goes to the request's sink once the model has said something. Raises
    `ReplyBroken` where the reply broke and nothing of it was passed on, so that it may be asked for
    again; a `ReplyFailed` with what was passed as `lost` otherwise; `NotJson` and `Refusal` as
    others do that read replies.
    """
    gathered = _Reply()
    chunks = bounded(reply.chunks)
    if reply.media_type != EVENT_STREAM:
        body = b"".join(chunks)
        _take(gathered, parse_document(reply, body))
        return gathered.answer(request, clean(body.decode("utf-8", "replace")))
    events: list[str] = []
    passed = 0
    try:
        for event in iter_events(chunks):
            data = "".join(iter_event_data([event])).strip()
            if data == "[DONE]":
                gathered.has_ended = True
            elif data:
                _take(gathered, event_document(reply, data))
            events.append(clean(event.decode("utf-8", "replace")))
            while request.sink and gathered.said and passed < len(events) - 1:
                request.sink(events[passed].encode())
                passed += 1
        if not gathered.has_ended:
            raise ReplyBroken(JUST_ENDS)
    except ReplyFailed as broken:
        usage = answer_usage(gathered.answer(request, ""), request)
        if not passed:
            broken.usage = usage
            raise
        lost = ("".join(events[:passed]),)
        raise ReplyFailed(
            f"{broken.message}; a part had been passed on", usage, lost=lost
        ) from None
    return gathered.answer(request, "".join(events))


def _take(gathered: _Reply, document: Mapping[str, Any]) -> None:
    """Add a document; raise `Refusal` for an error that comes in place of a reply."""
    error = document.get("error")
    if isinstance(error, Mapping) and error and not gathered.said:
        raise error_document(error)
    gathered.take(document)
