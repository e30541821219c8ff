"""Whatever JSON a server sends, reading it ends in an answer or in a reason."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.llm.model_client import ReplyFailed
from shared.llm.request_forms import adjusted, initial_quirks
from shared.llm.server_apis import ResponseStream, read_chat, read_response
from shared.llm.server_replies import Answer, ErrorBody, Refusal, parse_error_body
from tests.shared.llm.edge import SCHEMA, chat_request, planner_request

# The words that the readers look for, so that documents get past the first look.
NAMES = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "content",
        "finish_reason",
        "refusal",
        "reasoning",
        "usage",
        "prompt_tokens",
        "model",
        "error",
        "code",
        "type",
        "text",
        "status",
        "output",
        "response",
        "id",
        "summary",
        "incomplete_details",
        "reason",
        "sequence_number",
        "input_tokens",
        "output_tokens_details",
        "reasoning_tokens",
        "param",
        "detail",
    ]
)
VALUES = st.sampled_from(
    [
        "stop",
        "length",
        "completed",
        "incomplete",
        "failed",
        "cancelled",
        "queued",
        "message",
        "max_output_tokens",
        "reasoning",
        "output_text",
        "refusal",
        "error",
        "x",
        "response.output_text.delta",
        "insufficient_quota",
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 700) | st.floats() | VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
documents = st.dictionaries(NAMES, json_values, max_size=5)


def ignore(channel: str, text: str) -> None:
    assert isinstance(text, str)


@given(st.lists(documents, max_size=4))
def test_chat_documents(sent: list[dict[str, Any]]) -> None:
    try:
        answer = read_chat(sent, chat_request(), ignore)
    except (ReplyFailed, Refusal) as fault:
        assert fault.message
        return
    assert isinstance(answer, Answer)
    assert answer.text


@given(st.lists(documents, max_size=4))
def test_response_events(sent: list[dict[str, Any]]) -> None:
    stream = ResponseStream(ignore)
    try:
        stream.read(sent)
        assert stream.final is not None
        answer = read_response(stream.final, planner_request(), stream.text)
    except (ReplyFailed, Refusal) as fault:
        assert fault.message
        return
    assert answer.text


@given(documents)
def test_response_documents(sent: dict[str, Any]) -> None:
    try:
        assert read_response(sent | {"status": "completed"}, planner_request()).text
    except ReplyFailed as fault:
        assert fault.message


@given(json_values, st.sampled_from([400, 404, 422, 429, 500]))
def test_error_bodies(body: object, status: int) -> None:
    parsed = parse_error_body(body)
    assert isinstance(parsed, ErrorBody)
    assert len(parsed.text) <= 500
    assert Refusal(status, parsed).message


@given(st.text(max_size=60), st.booleans())
def test_adjusting_to_refusals_comes_to_an_end(text: str, is_openai: bool) -> None:
    """Whatever is refused, and however often: no form is tried twice, so the forms run out."""
    words = f"{text} temperature reasoning summary max_tokens max_output_tokens json_schema store"
    request = planner_request(
        reply_schema=SCHEMA, temperature=0.0, reasoning_effort="low", max_output_tokens=9
    )
    quirks = initial_quirks(request.api, is_openai=is_openai)
    tried = {quirks}
    while change := adjusted(quirks, request, Refusal(400, ErrorBody(words))):
        quirks = change.quirks
        if quirks in tried:
            break
        tried.add(quirks)
    assert len(tried) < 20
