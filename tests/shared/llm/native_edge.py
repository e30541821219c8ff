"""Bodies of Anthropic's Messages and of Gemini, as their API references have them; all authored.

`problems_of` holds them to the types of the vendors' own SDKs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from jsonschema import Draft202012Validator

from shared.llm.model_client import Provider
from tests.shared.llm.scripted_server import Send, Stream

Native = Literal["messages", "gemini"]
NATIVE: tuple[Native, ...] = ("messages", "gemini")
PROVIDERS: Final = {"messages": Provider.ANTHROPIC, "gemini": Provider.GEMINI}
MODELS: Final = {"messages": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}

MESSAGES_USAGE: Final = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 30,
    "output_tokens": 5,
}
GEMINI_USAGE: Final = {
    "promptTokenCount": 60,
    "cachedContentTokenCount": 30,
    "candidatesTokenCount": 3,
    "thoughtsTokenCount": 2,
    "totalTokenCount": 65,
}


_EXTRACT = Path(__file__).parent / "native_schemas" / "extract.json"


@cache
def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = json.loads(_EXTRACT.read_text("utf-8"))["schemas"]
    return schemas


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(_schemas()[name])


def problems_of(name: str, document: object) -> list[str]:
    """Return what the schema of a vendor's type says against the document."""
    found = _validator(name).iter_errors(document)
    return [f"{name} {each.json_path}: {each.message[:200]}" for each in found]


def problems_of_request(way: Native, body: dict[str, Any]) -> list[str]:
    """Return what a vendor's types say against the body of a request."""
    if way == "messages":
        # The SDK no longer has the temperature, which models up to Claude 4.6 take.
        known = {*_schemas()["anthropic.Request"]["properties"], "temperature"}
        return problems_of("anthropic.Request", {"stream": True} | body) + [
            f"no such property: {each}" for each in body.keys() - known
        ]
    kinds = {"contents": "gemini.Content", "tools": "gemini.Tool"}
    found = [f"no such property: {each}" for each in body.keys() - {*kinds, "generationConfig"}]
    for key, kind in kinds.items():
        found += [each for part in body.get(key, []) for each in problems_of(kind, part)]
    return found + problems_of("gemini.GenerationConfig", body.get("generationConfig", {}))


def message(
    *content: dict[str, Any] | str, stop: str | None = "end_turn", **changes: Any
) -> dict[str, Any]:
    """Return a whole message; texts are blocks of text."""
    blocks = [{"type": "text", "text": e} if isinstance(e, str) else e for e in content]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-0001",
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": MESSAGES_USAGE,
    } | changes


def block_events(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[Any]:
    """Return the events of one block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_events(index: int, *pieces: str) -> list[Any]:
    deltas = ({"type": "text_delta", "text": each} for each in pieces)
    return block_events(index, {"type": "text", "text": ""}, *deltas)


def message_begin() -> dict[str, Any]:
    usage = MESSAGES_USAGE | {"output_tokens": 1}
    return {"type": "message_start", "message": message(stop=None, usage=usage)}


def message_end(stop: str, **delta: Any) -> list[dict[str, Any]]:
    ended = {"stop_reason": stop, "stop_sequence": None} | delta
    return [
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def message_stream(*events: Any, stop: str | None = "end_turn", **delta: Any) -> Stream:
    """Return a streamed message; without `stop` it just ends."""
    ends = [] if stop is None else message_end(stop, **delta)
    return Stream([message_begin(), {"type": "ping"}, *events, *ends])


def generated(
    *parts: dict[str, Any] | str, finish: str | None = "STOP", **changes: Any
) -> dict[str, Any]:
    """Return a document of Gemini; texts are parts of text."""
    content = {
        "role": "model",
        "parts": [{"text": e} if isinstance(e, str) else e for e in parts],
    }
    candidate: dict[str, Any] = {"content": content, "index": 0}
    if finish is None:
        return {"candidates": [candidate], "modelVersion": "gemini-0001"} | changes
    return {
        "candidates": [candidate | {"finishReason": finish}],
        "usageMetadata": GEMINI_USAGE,
        "modelVersion": "gemini-0001",
    } | changes


def generated_stream(*pieces: dict[str, Any] | str, finish: str | None = "STOP") -> Stream:
    """Return a streamed reply of one part in each document; without `finish` it just ends."""
    *first, last = pieces
    return Stream([*(generated(e, finish=None) for e in first), generated(last, finish=finish)])


def good(way: Native, *pieces: str) -> Stream:
    """Return a streamed reply."""
    if way == "gemini":
        return generated_stream(*pieces)
    return message_stream(*text_events(0, *pieces))


_TYPES: Final = {
    400: ("invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "UNAUTHENTICATED"),
    402: ("billing_error", "FAILED_PRECONDITION"),
    403: ("permission_error", "PERMISSION_DENIED"),
    404: ("not_found_error", "NOT_FOUND"),
    413: ("request_too_large", "INVALID_ARGUMENT"),
    429: ("rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("api_error", "INTERNAL"),
    503: ("api_error", "UNAVAILABLE"),
    504: ("timeout_error", "DEADLINE_EXCEEDED"),
    529: ("overloaded_error", "UNAVAILABLE"),
}


def error_body(
    way: Native, status: int, said: str = "no", details: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return an error as the vendor has it."""
    kind, name = _TYPES.get(status, ("api_error", "UNKNOWN"))
    if way == "messages":
        return {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}
    error = {"code": status, "message": said, "status": name}
    return {"error": error | ({"details": [*details]} if details else {})}


def native_error(way: Native, status: int, said: str = "no", **headers: str) -> Send:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Send(error_body(way, status, said), status, named)
