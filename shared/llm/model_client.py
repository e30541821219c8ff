"""Defines the protocol: a request goes in, a completion comes out; reads JSON in a reply; picks the
server of each role.

Small and local models think aloud, greet, and fence their JSON. All of that is tolerated around
exactly one object. The caller parses the object itself. Every scan takes linear time.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol, Self


class Api(StrEnum):
    """Represent the family of endpoints that a request is made for.

    A request names one of the first two. A server of another provider is asked by its own.
    """

    RESPONSES = "responses"
    CHAT = "chat"
    MESSAGES = "messages"
    GEMINI = "gemini"


class Provider(StrEnum):
    """Represent whose wire a server speaks; `AUTO` leaves that to the model's name and the keys."""

    AUTO = "auto"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class Role(StrEnum):
    """Represent the part of the program that makes a call. Each role may have its own model.

    A look is the planner's call that is answered with what it asked to see of the repo.
    """

    PLANNER = "planner"
    LOOK = "look"
    REVIEWER = "reviewer"
    FACTORY = "factory"


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Represent the position of a call in a run.

    A recorded reply is found by the request and its place. `turn` counts the calls within an
    attempt that makes several, from 1; it is 0 for an attempt's only call.
    """

    role: Role
    attempt: int
    order: str | None = None
    turn: int = 0

    def __str__(self) -> str:
        where = f" {self.order}" if self.order else ""
        turn = f" turn {self.turn}" if self.turn else ""
        return f"{self.role}{where} attempt {self.attempt}{turn}"


@dataclass(frozen=True, slots=True)
class ReplySchema:
    """Hold the JSON schema that a reply should follow, and the name that servers require for it."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Relayed:
    """Hold an agent's call after it was cleaned: its route, and its body as compact JSON.

    The parts that llmch sets (model, limit, temperature, effort) are those of the request, not of
    the body. `again` counts equal calls before it in the attempt. `digest` is the SHA-256 of the
    body without what differs between equal runs, such as ids; `masks` names what that was here. The
    key of the request has the digest in place of the body, so that the reply is found whatever the
    ids are, and in whatever sequence calls arrive.
    """

    route: str
    body: str
    digest: str
    again: int = 0
    masks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelTool:
    """Describe a function that a model may call before it replies.

    `parameters` has a JSON schema for each of its arguments, with `examples`.
    """

    name: str
    description: str
    parameters: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Hold a model's call of a tool; `arguments` is the text that it wrote, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """Hold what a model said in calling tools, and the result of each call; see `Completion`."""

    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]
    sealed: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """Represent one question to a model. Runs on the same inputs make equal requests.

    `max_output_tokens`, `temperature` and `reasoning_effort` are `None` if the server's own
    default applies. `expected_output_tokens` is what a whole reply should need: where a cap leaves
    less than `max_output_tokens`, but this much, the call is made with what the cap leaves. It is
    not sent, and no part of a transcript. Neither is `perform`: it makes the completion in this
    process, and no model is asked. `relayed` is an agent's call; `prompt` is then empty, and `sink`
    is called with each event of a streamed reply, as its bytes are, but the last one. `exchanges`
    follow the prompt, and `tools` may be called; both are part of the prompt with `tools_in_text`.
    `shared` is how much of the prompt's beginning, in characters, further calls are expected to
    repeat soon; a server that has to be told keeps that part. It is no part of a transcript.
    Neither is `in_parts`: whoever asks will ask for less where the reply is cut, so that the same
    question is not asked with more room.
    """

    api: Api
    model: str
    prompt: str
    place: CallPlace
    reply_schema: ReplySchema | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    expected_output_tokens: int | None = None
    perform: Callable[[], Completion] | None = field(default=None, compare=False, repr=False)
    relayed: Relayed | None = None
    tools: tuple[ModelTool, ...] = ()
    exchanges: tuple[ToolTurn, ...] = ()
    tools_in_text: bool = False
    shared: int = field(default=0, compare=False)
    in_parts: bool = field(default=False, compare=False)
    sink: Callable[[bytes], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Hold the tokens and the cost of calls; `cost_usd` is `None` while any price is unknown.

    `estimated_calls` are those whose tokens the server did not report, or reported too low. Of the
    input, `cached_tokens` were read from the server's cache, and `written_tokens` written to it.
    """

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    estimated_calls: int = 0
    written_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return self._with(other, 1)

    def __sub__(self, earlier: Usage) -> Usage:
        return self._with(earlier, -1)

    def _with(self, other: Usage, sign: int) -> Usage:
        mine, its = self.cost_usd, other.cost_usd
        return Usage(
            calls=self.calls + sign * other.calls,
            input_tokens=self.input_tokens + sign * other.input_tokens,
            cached_tokens=self.cached_tokens + sign * other.cached_tokens,
            output_tokens=self.output_tokens + sign * other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + sign * other.reasoning_tokens,
            cost_usd=None if mine is None or its is None else mine + sign * its,
            estimated_calls=self.estimated_calls + sign * other.estimated_calls,
            written_tokens=self.written_tokens + sign * other.written_tokens,
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """Hold a model's reply: its text, its visible reasoning if there is any, and its usage.

    `model` is the name that the server answered with. `replayed` is true where the reply came
    from a transcript and no model was asked. `adjustments` lists in words how the request had to
    be changed, such as a refused parameter that was dropped or another endpoint that was used.
    `lost` holds what came of the replies before it that were cut or broken: they were paid, too.
    `document` is the body of the reply to a relayed call, as the server sent it, or the record of
    what was performed. `calls` are those of tools; a completion with any is not the reply yet.
    `sealed` is then, as JSON, what the server wants to have back beside their results: it holds
    signed reasoning, and stays as it is.
    """

    text: str
    model: str
    usage: Usage
    reasoning: str = ""
    replayed: bool = False
    adjustments: tuple[str, ...] = field(default=())
    lost: tuple[str, ...] = ()
    document: str = ""
    calls: tuple[ToolCall, ...] = ()
    sealed: str = ""


class LlmClient(Protocol):
    """Answer requests. A live client, a transcript and a test's script all do."""

    def complete(self, request: Request) -> Completion:
        """Return the model's reply.

        Raises `ModelUnavailable` or `BudgetReached` if asking again would not help, and
        `ReplyFailed` if another attempt may succeed.
        """
        ...


class ReplyFailed(Exception):
    """Raised when a call brought no usable reply (refusal, truncation, transport).

    The next call may succeed. `message` says in words what came instead. `usage` is what the
    failed call took, as far as is known. `replayed` is true where the failure came from a
    transcript. `lost` holds the text that came of each reply, the last one's last.
    """

    def __init__(
        self,
        message: str,
        usage: Usage | None = None,
        *,
        replayed: bool = False,
        lost: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.usage = usage if usage is not None else Usage(calls=1)
        self.replayed = replayed
        self.lost = lost


class ReplyBroken(ReplyFailed):
    """Raised when a reply broke off on its way.

    The connection was lost, the server fell silent, or a stream had no proper end.
    """


class ReplyCutShort(ReplyFailed):
    """Raised when a reply reached its token limit before it was complete."""


class ByRoleClient:
    """Pass each request to the client of its role or of its model, else to `default`.

    As a context manager, it enters and closes all of these clients.
    """

    def __init__(
        self,
        default: LlmClient,
        others: Mapping[Role, LlmClient],
        models: Mapping[str, LlmClient] | None = None,
    ) -> None:
        self._default = default
        self._others = dict(others)
        self._models = dict(models or {})
        self._opened = contextlib.ExitStack()

    def complete(self, request: Request) -> Completion:
        of_model = self._models.get(request.model, self._default)
        return self._others.get(request.place.role, of_model).complete(request)

    def __enter__(self) -> Self:
        for client in (self._default, *self._others.values(), *self._models.values()):
            if isinstance(client, AbstractContextManager):
                self._opened.enter_context(client)
        return self

    def __exit__(self, *ended: object) -> None:
        self._opened.close()


_THOUGHT_OPENS = re.compile(r"<(think|thinking)>", re.IGNORECASE)
_LONE_THOUGHT_CLOSES = re.compile(
    r"^[ \t]*</think(?:ing)?>[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
# `{name}` in prose is not an object: an object's brace is followed by a key or by its end.
_OBJECT_OR_THOUGHT = re.compile(r'\{(?=\s*["}])|<(think|thinking)>', re.IGNORECASE)
# A list of findings is empty or holds objects. `[WO-01]` in prose is not such a list.
_VALUE_OR_THOUGHT = re.compile(r'\[(?=\s*[{\]])|\{(?=\s*["}])|<(think|thinking)>', re.IGNORECASE)
# The repetition is possessive, so that an unclosed string is read only once. The group is empty
# where the string never closes.
_BRACKET_OR_STRING = re.compile(r'[\[\]]|"(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
_BRACE_OR_STRING = re.compile(r'[{}]|"(?:[^"\\]++|\\.)*+("?)', re.DOTALL)


class ReplyMalformed(Exception):
    """Raised when a reply does not have the requested form; the model may be shown `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ReplyIsArray(ReplyMalformed):
    """Raised when a reply is a JSON array instead of an object; `source` is its text."""

    def __init__(self, source: str) -> None:
        super().__init__("the reply is a JSON array; one JSON object was expected")
        self.source = source


def extract_json_object(text: str) -> str:
    """Return the source of the one JSON object in `text`, unchanged.

    Reasoning blocks, fences and prose around the object are dropped. The object's braces balance;
    the caller's parser decides whether it is valid JSON. Raises `ReplyIsArray` for an array, and
    `ReplyMalformed` if it holds no object, more than one, or one that never closes.
    """
    reply = strip_reasoning(_after_lone_closing_tag(text))
    _refuse_array(reply)
    found = _objects(reply)
    if not found:
        raise ReplyMalformed(
            "the reply is empty" if not reply.strip() else "the reply holds no JSON object"
        )
    if len(found) > 1:
        raise ReplyMalformed("the reply holds more than one JSON object; exactly one was expected")
    return found[0]


def extract_json_array(text: str) -> str:
    """Return the source of the one JSON array in `text` that is empty or holds objects.

    The text around the array is dropped as in `extract_json_object`. Raises `ReplyMalformed` if
    it holds no such array, more than one, one that never closes, or an object beside the array.
    """
    reply = strip_reasoning(_after_lone_closing_tag(text))
    found: list[str] = []
    position = 0
    while match := _VALUE_OR_THOUGHT.search(reply, position):
        if match[1]:
            position = _after_thought(reply, match)
            continue
        if match[0] == "{":
            raise ReplyMalformed("the reply holds a JSON object; one JSON array was expected")
        position = _array_end(reply, match.start())
        found.append(reply[match.start() : position])
        if len(found) > 1:
            raise ReplyMalformed("the reply holds more than one JSON array; one was expected")
    if not found:
        raise ReplyMalformed("the reply holds no JSON array")
    return found[0]


def strip_reasoning(text: str) -> str:
    """Return `text` without the `<think>` blocks at its start.

    Raises `ReplyMalformed` if a block starts and never ends.
    """
    start = 0
    while opening := _THOUGHT_OPENS.match(text, _skip_blanks(text, start)):
        start = _after_thought(text, opening)
    return text[start:]


def _after_lone_closing_tag(text: str) -> str:
    """Return the text after a closing tag on a line of its own without an opening tag before it.

    Chat templates that write the opening tag themselves leave only the closing tag in the reply.
    No JSON string can hold such a line. Without such a tag, all of `text` is returned.
    """
    lone = _LONE_THOUGHT_CLOSES.search(text)
    if lone and not _THOUGHT_OPENS.search(text, 0, lone.start()):
        return text[lone.end() :]
    return text


def _objects(text: str) -> list[str]:
    """Return the top-level objects of `text`, at most two: two are already too many."""
    found: list[str] = []
    position = 0
    while len(found) < 2 and (match := _OBJECT_OR_THOUGHT.search(text, position)):
        if match[1]:
            position = _after_thought(text, match)
        else:
            position = _object_end(text, match.start())
            found.append(text[match.start() : position])
    return found


def _object_end(text: str, start: int) -> int:
    if end := _end_of(_BRACE_OR_STRING, "{}", text, start):
        return end
    raise ReplyMalformed(f"the JSON object in the reply never closes{_first_fault(text, start)}")


def _array_end(text: str, start: int) -> int:
    if end := _end_of(_BRACKET_OR_STRING, "[]", text, start):
        return end
    raise ReplyMalformed("the JSON array in the reply never closes")


def _end_of(tokens: re.Pattern[str], pair: str, text: str, start: int) -> int:
    """Return where what opens at `start` has closed; 0 if it never does."""
    depth = 0
    for token in tokens.finditer(text, start):
        depth += {pair[0]: 1, pair[1]: -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return 0


def _first_fault(text: str, start: int) -> str:
    """Return where a JSON parser fails first, in words; empty if it does not fail.

    An unescaped quote is a likelier cause than a missing brace.
    """
    try:
        json.JSONDecoder().raw_decode(text[start:])
    except json.JSONDecodeError as fault:
        return f": {fault.msg} (its line {fault.lineno}, column {fault.colno})"
    except RecursionError:
        return ": nested too deep"
    return ""


def _after_thought(text: str, opening: re.Match[str]) -> int:
    closing = re.compile(f"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
    if closing is None:
        raise ReplyMalformed("the reply ends inside its reasoning, without an answer")
    return closing.end()


def _refuse_array(text: str) -> None:
    bare = text.strip().removeprefix("```json").strip("`").strip()
    if not (bare.startswith("[") and bare.endswith("]")):
        return
    try:
        json.loads(bare)
    except (ValueError, RecursionError):
        return
    raise ReplyIsArray(bare)


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start
