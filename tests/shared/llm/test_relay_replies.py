"""Replies to agents' calls: read for their usage and their end, and passed on as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm.model_client import Relayed, ReplyBroken, ReplyFailed, Request, Usage
from shared.llm.relay_wires import read_relayed, sent_path
from shared.llm.reply_bodies import EVENT_STREAM, HttpReply
from shared.llm.server_apis import usage_of
from shared.llm.server_replies import Refusal, answer_usage
from tests.shared.llm.edge import (
    chat_chunk,
    chat_document,
    chat_request,
    chat_stream,
    response_document,
    response_stream,
)
from tests.shared.llm.relay_edge import events_of

GEMINI = [
    {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]},
    {
        "candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 3,
            "cachedContentTokenCount": 4,
        },
    },
]
MESSAGES: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {"model": "c", "usage": {"input_tokens": 3, "cache_read_input_tokens": 4}},
    },
    {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]


def asked(passed: list[bytes] | None = None) -> Request:
    call = Relayed("/v1/chat/completions", '{"messages":[]}', "digest")
    sink = None if passed is None else passed.append
    return Request(chat_request().api, "m", "", chat_request().place, relayed=call, sink=sink)


def read(
    body: bytes, media_type: str = EVENT_STREAM, cuts: Sequence[int] = ()
) -> tuple[Any, bytes]:
    """Return the answer to a body that comes in pieces, and what was passed on before its end."""
    passed: list[bytes] = []
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    answer = read_relayed(HttpReply(media_type, iter(chunks)), asked(passed), str)
    return answer, b"".join(passed)


STREAMS: dict[str, list[Any]] = {
    "chat": list(chat_stream("Hel", "lo").events),
    "responses": list(response_stream("Hello").events),
    "gemini": GEMINI,
    "messages": MESSAGES,
}


@pytest.mark.parametrize("wire", STREAMS)
@given(data=st.data(), end=st.sampled_from(["\n", "\r\n"]))
def test_a_stream_stays_as_its_bytes_are_however_it_is_cut(
    wire: str, data: st.DataObject, end: str
) -> None:
    body = b": hello\n\n" + events_of(STREAMS[wire])
    body = body.replace(b"\n", end.encode())
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    answer, passed = read(body, cuts=cuts)
    assert answer.document.encode() == body
    assert answer.text == "Hello"
    assert body.startswith(passed)
    assert passed.count(b"data:") < len(STREAMS[wire])


@pytest.mark.parametrize(
    ("wire", "usage"),
    [
        ("chat", Usage(1, 10, 4, 5, 2)),
        ("responses", Usage(1, 20, 8, 9, 3)),
        ("gemini", Usage(1, 7, 4, 5, 3)),
        ("messages", Usage(1, 7, 4, 5, 0)),
    ],
)
def test_the_usage_of_a_stream_is_what_its_server_reports(wire: str, usage: Usage) -> None:
    answer, _ = read(events_of(STREAMS[wire]))
    assert answer.usage == usage


def test_reasoning_beside_the_reply_is_counted_where_the_total_has_it() -> None:
    counts: dict[str, Any] = {"prompt_tokens": 21, "completion_tokens": 2, "total_tokens": 83}
    counts |= {"completion_tokens_details": {"reasoning_tokens": 60}}
    assert usage_of(counts) == Usage(1, 21, 0, 62, 60)
    assert usage_of(counts | {"completion_tokens": 62}) == Usage(1, 21, 0, 62, 60)


def test_a_count_that_is_null_takes_nothing_from_one_that_came_before() -> None:
    last = {"output_tokens": 5, "input_tokens": None, "cache_read_input_tokens": None}
    events = [each | {"usage": last} if "usage" in each else each for each in MESSAGES]
    answer, _ = read(events_of(events))
    assert answer.usage == Usage(1, 7, 4, 5, 0)


def test_a_model_of_gemini_may_have_its_prefix() -> None:
    route = "/v1beta/models/:generateContent"
    request = Request(
        asked().api, "models/g-1", "", asked().place, relayed=Relayed(route, "{}", "digest")
    )
    assert sent_path(request) == "/v1beta/models/g-1:generateContent"


def test_a_call_of_a_tool_counts_as_text_where_no_usage_is_reported() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"arguments": "x" * 900}}
    said = chat_document(None, "tool_calls", tool_calls=[call]) | {"usage": None}
    answer, _ = read(json.dumps(said).encode(), "application/json")
    assert answer_usage(answer, asked()).output_tokens >= 300
    image = json.dumps({"content": "data:image/png;base64," + "A" * 99_999})
    pictured = Request(
        asked().api, "m", "", asked().place, relayed=Relayed("/v1/responses", image, "digest")
    )
    answer, _ = read(json.dumps(response_document(text="x")).encode(), "application/json")
    assert answer_usage(answer, pictured).input_tokens == 20, "a picture is no text"


@pytest.mark.parametrize("wire", STREAMS)
def test_a_stream_without_its_end_is_broken(wire: str) -> None:
    events = STREAMS[wire][: {"chat": 2, "messages": 4}.get(wire, 1)]
    with pytest.raises(ReplyFailed, match="just ends") as caught:
        read(events_of(events))
    seen = "".join(caught.value.lost)
    assert events_of(events).startswith(seen.encode())
    assert isinstance(caught.value, ReplyBroken) is (not seen)


def test_an_error_in_place_of_a_reply_is_a_refusal() -> None:
    error = {"error": {"message": "overloaded", "code": 503}}
    for body, media_type in (
        (json.dumps(error).encode(), "application/json"),
        (events_of([error]), EVENT_STREAM),
        (events_of([{"type": "error", **error}]), EVENT_STREAM),
    ):
        with pytest.raises(Refusal) as caught:
            read(body, media_type)
        assert caught.value.may_pass


@pytest.mark.parametrize(
    ("kind", "status", "passes"),
    [
        ("overloaded_error", 529, True),
        ("rate_limit_error", 429, True),
        ("invalid_request_error", 400, False),
        ("authentication_error", 401, False),
        ("billing_error", 402, False),
    ],
)
def test_an_error_that_has_a_type_alone_is_the_refusal_that_it_names(
    kind: str, status: int, passes: bool
) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "so it is"}}
    with pytest.raises(Refusal) as caught:
        read(events_of([error]))
    assert (caught.value.status, caught.value.may_pass) == (status, passes)
    assert caught.value.message == f"HTTP {status}: so it is"


def test_an_error_after_something_was_said_breaks_the_reply() -> None:
    events = [chat_chunk(content="a"), chat_chunk(content="b"), {"error": {"message": "gone"}}]
    with pytest.raises(ReplyFailed, match="just ends"):
        read(events_of(events))
