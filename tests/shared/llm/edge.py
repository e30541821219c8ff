"""What the tests at the HTTP edge share: a clock that is never waited for, requests, and bodies.

Every body is checked against OpenAI's published schemas before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from shared.events.events import Event, ModelRetryScheduled, ModelTextArrived, ignore
from shared.llm.call_retry import RetryContext, RetryPolicy, SecondChanceClient
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import (
    Api,
    CallPlace,
    Completion,
    Provider,
    ReplySchema,
    Request,
    Role,
)
from tests.shared.llm.scripted_server import Act, ScriptedServer, Send, Stream, scripted_server

FACTORY_PLACE = CallPlace(Role.FACTORY, 1, "WO-01")
PLANNER_PLACE = CallPlace(Role.PLANNER, 1)
SCHEMA = ReplySchema(
    "reply",
    {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    },
)
_EXTRACT = Path(__file__).parent / "openai_schemas" / "extract.json"


class FakeClock:
    """Time that passes only by sleeping, and then at once."""

    def __init__(self) -> None:
        self.sleeps: list[float] = []
        self._now = 1000.0

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return 1_800_000_000.0 + self._now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self._now += seconds


@dataclass
class Edge:
    """A client of a scripted server, and all that can be seen of the two."""

    server: ScriptedServer
    client: LiveClient
    clock: FakeClock
    events: list[Event] = field(default_factory=list)

    def ask(self, request: Request) -> Completion:
        """Complete as a run would: with another chance for broken and cut replies."""
        patience = RetryContext(POLICY, self.clock, self.events.append)
        return SecondChanceClient(self.client, patience).complete(request)

    @property
    def waits(self) -> list[float]:
        return [each.wait_seconds for each in self.events if isinstance(each, ModelRetryScheduled)]

    def seen(self, channel: str) -> str:
        arrived = [each for each in self.events if isinstance(each, ModelTextArrived)]
        return "".join(each.text for each in arrived if each.channel == channel)

    @property
    def requests(self) -> int:
        return len(self.server.received)


# Without jitter the waits are 1, 2, 4, ... seconds.
POLICY = RetryPolicy(retries=4, jitter=lambda: 1.0)


@contextmanager
def edge(
    *script: Act,
    stream: bool = True,
    stall_seconds: float = 20.0,
    deadline_seconds: float = 2400,
    provider: Provider = Provider.OPENAI,
    key: str = "sk-test",
) -> Iterator[Edge]:
    """Connect a client to a server that plays `script`; streamed replies need a watcher.

    Where the script is silent, `stall_seconds` really pass.
    """
    clock = FakeClock()
    events: list[Event] = []
    with scripted_server(*script) as server:
        access = ModelAccess(server.base_url, key, stall_seconds, deadline_seconds, provider)
        emit = events.append if stream else ignore
        with LiveClient(access, emit, policy=POLICY, clock=clock) as client:
            yield Edge(server, client, clock, events)


def chat_request(prompt: str = "Say hello.", **changes: Any) -> Request:
    """Return a factory's question."""
    return Request(Api.CHAT, "small-1", prompt, FACTORY_PLACE, **changes)


def planner_request(prompt: str = "Plan it.", **changes: Any) -> Request:
    """Return a planner's question."""
    return Request(Api.RESPONSES, "large-1", prompt, PLANNER_PLACE, **changes)


def problems(schema: str, document: object) -> list[str]:
    """Return what OpenAI's schema of that name says against the document."""
    return [
        f"{each.json_path}: {each.message}" for each in _validator(schema).iter_errors(document)
    ]


def known_properties(schema: str) -> set[str]:
    """Return the names of all properties that OpenAI's schema of that name knows."""
    return set(_properties(_schemas()[schema]))


def _properties(node: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in node:
        yield from _properties(_schemas()[node["$ref"].rpartition("/")[2]])
    yield from node.get("properties", {})
    for part in node.get("allOf", []):
        yield from _properties(part)


@cache
def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = json.loads(_EXTRACT.read_text("utf-8"))["components"]["schemas"]
    return {name: _with_null(schema) for name, schema in schemas.items()}


def _with_null(node: Any) -> Any:
    """Read `nullable`, which the description uses in places, as JSON schema says the same."""
    if isinstance(node, list):
        return [_with_null(each) for each in node]
    if not isinstance(node, dict):
        return node
    read = {name: _with_null(value) for name, value in node.items()}
    return {"anyOf": [read, {"type": "null"}]} if read.pop("nullable", False) is True else read


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(
        {"$ref": f"#/components/schemas/{schema}", "components": {"schemas": _schemas()}}
    )


def _checked(schema: str, document: dict[str, Any]) -> dict[str, Any]:
    found = problems(schema, document)
    assert not found, found
    return document


# Chat Completions

CHAT_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def chat_document(
    content: str | None = "hello", finish: str | None = "stop", **message: Any
) -> dict[str, Any]:
    """Return a whole completion; a `finish` of `None` is what no good server sends."""
    document = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small-1-0001",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, "refusal": None} | message,
                "logprobs": None,
            }
        ],
        "usage": CHAT_USAGE,
    }
    return document if finish is None else _checked("CreateChatCompletionResponse", document)


def chat_chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return one chunk of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _checked("CreateChatCompletionStreamResponse", _chunk([choice]))


def usage_chunk() -> dict[str, Any]:
    """Return the last chunk, which holds the usage and no choice."""
    return _checked("CreateChatCompletionStreamResponse", _chunk([]) | {"usage": CHAT_USAGE})


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "small-1-0001",
        "choices": choices,
    }


def chat_stream(*pieces: str, finish: str | None = "stop") -> Stream:
    """Return a streamed completion of these pieces; without `finish` it just ends."""
    events: list[dict[str, Any] | str] = [chat_chunk(content=piece) for piece in pieces]
    if finish is None:
        return Stream(events)
    return Stream([*events, chat_chunk(finish), usage_chunk(), "[DONE]"])


# Responses


def response_document(
    status: str = "completed", text: str | None = None, *, refusal: str = "", **changes: Any
) -> dict[str, Any]:
    """Return a response object in that status, with `text` as its output."""
    content: list[dict[str, Any]] = []
    if text is not None:
        content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    if refusal:
        content = [{"type": "refusal", "refusal": refusal}]
    output = [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Thinking it over."}],
        },
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        },
    ]
    document: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "background": True,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "large-1-0001",
        "output": output if content else [],
        "parallel_tool_calls": True,
        "temperature": None,
        "top_p": None,
    }
    if status not in ("queued", "in_progress"):
        document["usage"] = {
            "input_tokens": 20,
            "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 29,
        }
    return _checked("Response", document | changes)


def response_event(kind: str, sequence: int, **rest: Any) -> dict[str, Any]:
    """Return one event of a streamed response."""
    return _checked("ResponseStreamEvent", {"type": kind, "sequence_number": sequence} | rest)


def text_event(sequence: int, text: str) -> dict[str, Any]:
    """Return an event that brings a piece of the reply."""
    return response_event(
        "response.output_text.delta",
        sequence,
        item_id="msg_1",
        output_index=1,
        content_index=0,
        delta=text,
        logprobs=[],
    )


def reasoning_event(sequence: int, text: str) -> dict[str, Any]:
    """Return an event that brings a piece of the reasoning's summary."""
    return response_event(
        "response.reasoning_summary_text.delta",
        sequence,
        item_id="rs_1",
        output_index=0,
        summary_index=0,
        delta=text,
    )


def created_event() -> dict[str, Any]:
    """Return the event that begins each stream."""
    return response_event("response.created", 0, response=response_document("queued"))


def final_event(sequence: int, document: dict[str, Any]) -> dict[str, Any]:
    """Return the event that ends a stream with that response."""
    return response_event(f"response.{document['status']}", sequence, response=document)


def response_stream(text: str = "the plan", document: dict[str, Any] | None = None) -> Stream:
    """Return a whole streamed response."""
    final = document or response_document(text=text)
    return Stream([created_event(), text_event(1, text), final_event(2, final)])


# Errors


def error_answer(
    status: int,
    message: str = "no",
    code: str | None = None,
    param: str | None = None,
    **headers: str,
) -> Send:
    """Return an error in OpenAI's form; header names are written with underscores."""
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": param}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Send(_checked("ErrorResponse", {"error": error}), status, named)


def outcome(ask: Callable[[], Completion]) -> str:
    """Return the reply's text, or the kind of failure and its message."""
    try:
        return ask().text
    except Exception as error:
        return f"{type(error).__name__}: {error}"
