"""Anthropic's Messages and Gemini over real HTTP: what is sent, what is read, what is learned."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from shared.errors import ModelUnavailable
from shared.llm.model_access import ModelAccess, native_url
from shared.llm.model_client import (
    ModelTool,
    Provider,
    ReplyFailed,
    Request,
    ToolCall,
    ToolTurn,
    Usage,
)
from shared.llm.replayed_replies import RecordingClient, ReplayClient
from shared.llm.tool_calls import numbered
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import AUTHORED, request_key, request_to_json
from tests.shared.llm.edge import SCHEMA, chat_request, edge, outcome, planner_request
from tests.shared.llm.native_edge import (
    GEMINI_USAGE,
    MESSAGES_USAGE,
    MODELS,
    NATIVE,
    PROVIDERS,
    Native,
    block_events,
    error_body,
    generated,
    generated_stream,
    good,
    message,
    message_begin,
    message_end,
    message_stream,
    native_error,
    problems_of,
    problems_of_request,
    text_events,
)
from tests.shared.llm.scripted_server import Act, Send, Stream

READ = ModelTool(
    "read", "shows a file", {"path": {"type": "string", "examples": ["a.py"]}}, required=("path",)
)
each_wire = pytest.mark.parametrize("way", NATIVE)


def asked(way: Native, **changes: Any) -> Request:
    return replace(chat_request(), **{"model": MODELS[way], **changes})


def body_of(way: Native, reply: Act | None = None, **changes: Any) -> dict[str, Any]:
    """Return the body that is sent for a request."""
    with edge(reply or good(way, "hello"), provider=PROVIDERS[way]) as it:
        it.client.complete(asked(way, **changes))
        return it.server.bodies[0]


@each_wire
def test_a_reply_is_shown_as_it_comes_and_returned_whole(way: Native) -> None:
    with edge(good(way, "hel", "lo"), provider=PROVIDERS[way]) as it:
        completion = it.client.complete(asked(way))
        assert (completion.text, it.seen("text")) == ("hello", "hello")
        assert completion.model.endswith("-0001")
        written = 20 if way == "messages" else 0
        reasoning = 0 if way == "messages" else 2
        assert completion.usage == Usage(1, 60, 30, 5, reasoning, None, 0, written)
        (received,) = it.server.received
    path = {
        "messages": "/v1/messages",
        "gemini": "/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    }
    assert received.path == path[way]
    keys = {"x-api-key", "x-goog-api-key", "authorization"} & received.headers.keys()
    assert keys == {"x-api-key" if way == "messages" else "x-goog-api-key"}


@each_wire
@pytest.mark.parametrize("api", [chat_request, planner_request])
def test_every_role_is_asked_on_the_provider_s_wire(
    way: Native, api: Callable[..., Request]
) -> None:
    with edge(good(way, "hello"), stream=False, provider=PROVIDERS[way]) as it:
        assert it.client.complete(api()).text == "hello"


@each_wire
def test_a_server_that_does_not_stream_is_read_all_the_same(way: Native) -> None:
    whole = Send(message("hi") if way == "messages" else generated("hi"))
    refusal = native_error(way, 400, "stream is not supported")
    with edge(whole, refusal, whole, provider=PROVIDERS[way]) as it:
        assert it.client.complete(asked(way)).text == "hi"
        completion = it.client.complete(asked(way))
        assert completion.text == "hi"
        assert completion.adjustments[0].startswith("streaming was refused")
        assert it.server.bodies[2].get("stream") is None
        assert "alt=sse" not in it.server.received[2].path


TURN = ToolTurn("Look.", (ToolCall("toolu_7", "read", '{"path": "b.py"}'),), ("x = 1",))
PARTS: dict[str, Any] = {
    "temperature": 0.0,
    "max_output_tokens": 4_000,
    "reasoning_effort": "high",
    "tools": (READ,),
    "exchanges": (TURN,),
    "reply_schema": SCHEMA,
    "prompt": "A line of words.\n" * 2_000,
    "shared": 20_000,
}


@pytest.mark.parametrize(
    ("way", "model"),
    [
        *MODELS.items(),
        ("messages", "claude-opus-5-5"),
        ("gemini", "gemini-3.1-pro-preview"),
    ],
)
def test_every_request_is_of_the_form_that_the_vendor_s_sdk_has(way: Native, model: str) -> None:
    for some in (*combinations(PARTS, 1), *combinations(PARTS, 3), [*PARTS]):
        changes = {name: PARTS[name] for name in some} | {"model": model}
        body = body_of(way, CALLS[way][0] if "tools" in some else None, **changes)
        assert problems_of_request(way, body) == [], some
    # The control: another form is not.
    for wrong in ({"messages": [{"role": "model"}]}, {"contents": [{"parts": [{"txt": "x"}]}]}):
        assert problems_of_request(way, body | wrong)


def test_the_replies_of_this_suite_are_of_the_form_that_the_vendors_sdks_have() -> None:
    events = [message_begin(), *CALLED, *text_events(4, "a", "b"), *message_end("tool_use")]
    assert [p for each in events for p in problems_of("anthropic.Event", each)] == []
    assert problems_of("anthropic.Message", message("hi", *CALLED_WHOLE, stop="tool_use")) == []
    documents = [generated("hi"), generated("hi", finish=None), generated(*GEMINI_CALLED)]
    assert [p for each in documents for p in problems_of("gemini.Response", each)] == []


# Tools


THOUGHT = {"type": "thinking", "thinking": "", "signature": ""}
CALLED = [
    *block_events(
        0,
        THOUGHT,
        {"type": "thinking_delta", "thinking": "Look "},
        {"type": "thinking_delta", "thinking": "first."},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    *block_events(1, {"type": "redacted_thinking", "data": "c2VhbGVk"}),
    *text_events(2, "Let me ", "look."),
    *block_events(
        3,
        {"type": "tool_use", "id": "toolu_7", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"path": '},
        {"type": "input_json_delta", "partial_json": '"b.py"}'},
    ),
]
CALLED_WHOLE: list[dict[str, Any] | str] = [
    {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "c2VhbGVk"},
    "Let me look.",
    {"type": "tool_use", "id": "toolu_7", "name": "read", "input": {"path": "b.py"}},
]
GEMINI_CALLED: list[dict[str, Any]] = [
    {"text": "Look first.", "thought": True},
    {"text": "Let me look."},
    {
        "functionCall": {"name": "read", "args": {"path": "b.py"}, "id": "toolu_7"},
        "thoughtSignature": "c2ln",
    },
]
CALLS: dict[Native, tuple[Act, Act]] = {
    "messages": (
        message_stream(*CALLED, stop="tool_use"),
        Send(message(*CALLED_WHOLE, stop="tool_use")),
    ),
    "gemini": (generated_stream(*GEMINI_CALLED), Send(generated(*GEMINI_CALLED))),
}
CALL = ToolCall("toolu_7", "read", '{"path": "b.py"}')


@each_wire
def test_a_call_s_signed_reasoning_goes_back_as_it_came(way: Native, tmp_path: Path) -> None:
    for reply in CALLS[way]:
        path = tmp_path / f"{id(reply)}.jsonl"
        with (
            edge(reply, good(way, "done"), provider=PROVIDERS[way]) as it,
            Transcript.open(path, AUTHORED) as record,
        ):
            client = RecordingClient(it.client, record)
            asks = asked(way, tools=(READ,))
            first = client.complete(asks)
            assert first.calls == (CALL,)
            assert (first.text, first.reasoning) == ("Let me look.", "Look first.")
            turn = ToolTurn(first.text, first.calls, ("x = 1",), first.sealed)
            request = asked(way, tools=(READ,), exchanges=(turn,))
            assert client.complete(request).text == "done"
            sent = it.server.bodies[1]
        with Transcript.read(path) as record:
            replayed = ReplayClient(record)
            again = replayed.complete(asks)
            assert (again.calls, again.sealed) == (first.calls, first.sealed)
            assert again.usage.written_tokens == first.usage.written_tokens
            assert replayed.complete(request).text == "done"
        if way == "messages":
            said, answered = (each["content"] for each in sent["messages"][1:])
            assert [each["type"] for each in said] == [
                "thinking", "redacted_thinking", "text", "tool_use",
            ]  # fmt: skip
            assert said[0] == {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"}
            assert said[3]["input"] == {"path": "b.py"}
            assert answered == [
                {"type": "tool_result", "tool_use_id": "toolu_7", "content": "x = 1"}
            ]
        else:
            said, answered = (each["parts"] for each in sent["contents"][1:])
            assert said == GEMINI_CALLED[1:]
            assert answered == [
                {
                    "functionResponse": {
                        "id": "toolu_7",
                        "name": "read",
                        "response": {"result": "x = 1"},
                    }
                }
            ]
        assert "sealed" in json.dumps(request_to_json(request))


def test_without_signed_reasoning_the_key_of_a_request_stays_as_it_was() -> None:
    turn = ToolTurn("", (CALL,), ("x = 1",))
    parts = request_to_json(chat_request(exchanges=(turn,)))
    assert [*parts["exchanges"][0]] == ["text", "calls", "results"]
    assert request_key(chat_request()) == request_key(chat_request(shared=9))


@each_wire
@pytest.mark.parametrize("sealed", ["", "{", '{"other": []}', '{"messages": 3, "gemini": "x"}'])
def test_a_call_is_sent_without_what_another_server_sealed(way: Native, sealed: str) -> None:
    turn = ToolTurn("Look.", (CALL,), ("x = 1",), sealed)
    body = body_of(way, tools=(READ,), exchanges=(turn,))
    said = body["messages"][1]["content"] if way == "messages" else body["contents"][1]["parts"]
    assert said[0]["text"] == "Look." and len(said) == 2


def test_a_wrong_key_of_google_s_under_400_is_a_wrong_key() -> None:
    details = ({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},)
    body = error_body("gemini", 400, "API key not valid. Please pass a valid API key.", details)
    with edge(Send(body, 400), provider=Provider.GEMINI) as it:
        said = outcome(lambda: it.ask(asked("gemini")))
        assert "refused the key" in said and it.requests == 1


def test_a_result_for_gemini_has_the_id_of_its_call_where_the_server_gave_one() -> None:
    calls = (ToolCall("fc-9", "read", "{}"), ToolCall(numbered(2), "read", "{}"))
    body = body_of("gemini", tools=(READ,), exchanges=(ToolTurn("", calls, ("x", "y")),))
    said, answered = (each["parts"] for each in body["contents"][1:])
    assert [each["functionCall"].get("id") for each in said] == ["fc-9", None]
    assert [each["functionResponse"].get("id") for each in answered] == ["fc-9", None]


@each_wire
def test_tools_that_are_refused_are_described_in_the_prompt(way: Native) -> None:
    call = json.dumps({"tool": "read", "path": "b.py"})
    refusal = native_error(way, 400, "this model does not support tool use")
    with edge(refusal, good(way, call), provider=PROVIDERS[way]) as it:
        completion = it.client.complete(asked(way, tools=(READ,)))
        assert [each.name for each in completion.calls] == ["read"]
        assert "tools" not in it.server.bodies[1]


def test_arguments_that_are_no_object_go_back_as_none_at_all() -> None:
    broken = ToolTurn("", (ToolCall("c", "read", '["\\ud800'),), ("no",))
    assert body_of("messages", tools=(READ,), exchanges=(broken,))["messages"][1]["content"] == [
        {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    ]
    lone = ToolTurn("", (ToolCall("c", "read", '{"path": "\\ud800"}'),), ("no",))
    for way in NATIVE:
        assert "\ufffd" in json.dumps(
            body_of(way, tools=(READ,), exchanges=(lone,)), ensure_ascii=False
        )


# Forms


@dataclass(frozen=True)
class Learned:
    """A refusal of the first form, and what the next body has in its place."""

    way: Native
    changes: dict[str, Any]
    refusal: str
    before: Callable[[dict[str, Any]], object]
    after: Callable[[dict[str, Any]], object]


def config(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body.get("generationConfig", {})
    return found


BOUND = {"reply_schema": SCHEMA}
LADDERS = {
    "messages: schema, tool": Learned(
        "messages", BOUND, "output_config.format: Extra inputs are not permitted",
        lambda body: "format" in body["output_config"] and "tools" not in body,
        lambda body: body["tool_choice"] == {"type": "tool", "name": "reply"}
        and "output_config" not in body,
    ),
    "messages: thinking has no forced tool": Learned(
        "messages", BOUND | {"reasoning_effort": "low"}, "this json_schema is too complex",
        lambda body: "format" in body["output_config"],
        lambda body: "tool_choice" not in body and "JSON schema" in json.dumps(body),
    ),
    "messages: temperature": Learned(
        "messages", {"temperature": 0.5}, "`temperature` is deprecated for this model.",
        lambda body: body["temperature"] == 0.5, lambda body: "temperature" not in body,
    ),
    "messages: tokens to think": Learned(
        "messages", {"reasoning_effort": "high", "max_output_tokens": 10_000},
        '"thinking.type.enabled" is not supported for this model. Use adaptive.',
        lambda body: body["thinking"] == {"type": "enabled", "budget_tokens": 5_000},
        lambda body: body["thinking"]["type"] == "adaptive"
        and body["output_config"] == {"effort": "high"},
    ),
    "messages: effort": Learned(
        "messages", {"reasoning_effort": "high", "model": "claude-opus-5"},
        "output_config.effort: This model does not support the effort parameter.",
        lambda body: body["output_config"] == {"effort": "high"},
        lambda body: body["thinking"]["type"] == "enabled",
    ),
    "messages: summary": Learned(
        "messages", {"reasoning_effort": "high", "model": "claude-opus-4-6"},
        "thinking.adaptive.display: Extra inputs are not permitted",
        lambda body: body["thinking"] == {"type": "adaptive", "display": "summarized"},
        lambda body: body["thinking"] == {"type": "adaptive"},
    ),
    "messages: limit": Learned(
        "messages", {},
        "max_tokens: 32768 > 8192, which is the maximum allowed number of output tokens",
        lambda body: body["max_tokens"] == 32_768, lambda body: body["max_tokens"] == 8_192,
    ),
    "gemini: schema": Learned(
        "gemini", BOUND, "The specified schema produces a constraint that has too many states.",
        lambda body: config(body)["responseJsonSchema"] == SCHEMA.schema,
        lambda body: config(body) == {"responseMimeType": "application/json"},
    ),
    "gemini: level": Learned(
        "gemini", {"reasoning_effort": "medium", "model": "gemini-3.5-flash"},
        "Thinking level is not supported for this model.",
        lambda body: config(body)["thinkingConfig"]["thinkingLevel"] == "medium",
        lambda body: config(body)["thinkingConfig"]["thinkingBudget"] == 8_192,
    ),
    "gemini: tokens": Learned(
        "gemini", {"reasoning_effort": "none"}, "Budget 0 is invalid. This model only works in "
        "thinking mode.",
        lambda body: config(body)["thinkingConfig"]["thinkingBudget"] == 0,
        lambda body: config(body)["thinkingConfig"]["thinkingLevel"] == "minimal",
    ),
}  # fmt: skip


def test_a_limit_of_our_own_is_lowered_to_what_the_prompt_leaves_of_the_window() -> None:
    said = (
        "input length and `max_tokens` exceed context limit: 190000 + 32768 > 200000, decrease "
        "input length or `max_tokens` and try again"
    )
    refusal, reply = native_error("messages", 400, said), good("messages", "good")
    with edge(refusal, reply, reply, provider=PROVIDERS["messages"]) as it:
        for _ in range(2):
            assert it.client.complete(asked("messages")).text == "good"
        assert [body["max_tokens"] for body in it.server.bodies] == [32_768, 10_000, 32_768]


@pytest.mark.parametrize("name", LADDERS)
def test_what_is_refused_takes_another_form(name: str) -> None:
    it_is = LADDERS[name]
    reply = good(it_is.way, "good")
    with edge(
        native_error(it_is.way, 400, it_is.refusal), reply, reply, provider=PROVIDERS[it_is.way]
    ) as it:
        completion = it.client.complete(asked(it_is.way, **it_is.changes))
        it.client.complete(asked(it_is.way, **it_is.changes))
        first, second, third = it.server.bodies
        assert it_is.before(first), first
        assert it_is.after(second), second
        assert third == second, "it is remembered"
        assert len(completion.adjustments) == 1


@each_wire
def test_an_effort_that_is_refused_in_both_forms_is_dropped(way: Native) -> None:
    refusals = [native_error(way, 400, "thinking is not supported by this model")] * 2
    with edge(*refusals, good(way, "good"), provider=PROVIDERS[way]) as it:
        assert it.client.complete(asked(way, reasoning_effort="low")).text == "good"
        body = it.server.bodies[-1]
        assert "thinking" not in body and "thinkingConfig" not in config(body)


def test_a_reply_in_the_arguments_of_a_forced_tool_is_a_reply() -> None:
    forced = block_events(
        0,
        {"type": "tool_use", "id": "toolu_1", "name": "reply", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"answer":'},
        {"type": "input_json_delta", "partial_json": ' "yes"}'},
    )
    refusal = native_error("messages", 400, "output_config: Extra inputs are not permitted")
    reply = message_stream(*forced, stop="tool_use")
    with edge(refusal, reply, provider=PROVIDERS["messages"]) as it:
        completion = it.client.complete(asked("messages", reply_schema=SCHEMA))
        assert json.loads(completion.text) == {"answer": "yes"}
        assert completion.calls == ()


@pytest.mark.parametrize(
    ("model", "temperature", "thinking"),
    [
        ("claude-3-5-haiku-20241022", True, "enabled"),
        ("claude-sonnet-4-5-20250929", True, "enabled"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", True, "enabled"),
        ("claude-opus-4-6", True, "adaptive"),
        ("claude-sonnet-4.7", False, "adaptive"),
        ("claude-sonnet-5", False, "adaptive"),
        ("claude-opus-5-5", False, "adaptive"),
        ("claude-someday", False, "adaptive"),
    ],
)
def test_what_is_known_of_a_version_saves_a_refusal(
    model: str, temperature: bool, thinking: str
) -> None:
    plain = body_of("messages", model=model, temperature=0.0)
    assert ("temperature" in plain) is temperature
    thinks = body_of("messages", model=model, temperature=0.0, reasoning_effort="low")
    assert thinks["thinking"]["type"] == thinking
    assert "temperature" not in thinks


# What a server keeps


def marks(body: dict[str, Any]) -> list[str]:
    """Return the texts of a body after which a mark is."""
    blocks = [block for each in body["messages"] for block in each["content"]]
    return [b.get("text") or b["content"] for b in blocks if "cache_control" in b]


LONG = "word " * 1_000  # about 1,250 tokens
LONGER = "word " * 4_000


@pytest.mark.parametrize(
    ("model", "head", "shared", "kept"),
    [
        ("claude-sonnet-4-5", LONG, len(LONG), [LONG]),
        ("claude-sonnet-4-5", LONG, 0, []),
        ("claude-sonnet-4-5", "short ", 6, []),
        ("claude-haiku-4-5", LONG, len(LONG), []),
        ("claude-haiku-4-5", LONGER, len(LONGER), [LONGER]),
        ("claude-sonnet-4-5", LONG, 10**9, [f"{LONG}Now this."]),
    ],
)
def test_a_beginning_is_marked_where_it_is_long_enough_and_comes_again(
    model: str, head: str, shared: int, kept: list[str]
) -> None:
    body = body_of("messages", model=model, prompt=f"{head}Now this.", shared=shared)
    assert marks(body) == kept
    assert "".join(each["text"] for each in body["messages"][0]["content"]) == f"{head}Now this."


def test_each_turn_with_tools_keeps_what_the_next_one_begins_with() -> None:
    turns = [ToolTurn("", (CALL,), (result,)) for result in ("first", LONG)]
    goes_on = body_of("messages", prompt=LONG, tools=(READ,), exchanges=tuple(turns))
    assert marks(goes_on) == [LONG, LONG]
    assert "cache_control" in goes_on["messages"][-1]["content"][-1]
    assert len(marks(goes_on)) <= 4, "no server takes more"
    last = body_of("messages", prompt=LONG, exchanges=tuple(turns))
    assert marks(last) == [], "no call follows one without tools"
    assert [each["name"] for each in last["tools"]] == ["read"], "the server wants to know of them"
    assert last["tool_choice"] == {"type": "none"}


def test_gemini_keeps_by_itself() -> None:
    assert "cache" not in json.dumps(body_of("gemini", prompt=LONG, shared=len(LONG)))


# Odd replies


def usage_act(way: Native, usage: object) -> Act:
    if way == "messages":
        return Send(message("good", usage=usage))
    return Send(generated("good", usageMetadata=usage))


@each_wire
@pytest.mark.parametrize(
    "bad", [None, {}, "many", [], 7, {"input_tokens": -4, "promptTokenCount": -4},
            {"input_tokens": "9", "output_tokens": None, "promptTokenCount": "9"},
            {"input_tokens": 10**20, "promptTokenCount": 10**20}]
)  # fmt: skip
def test_a_usage_that_cannot_be_true_is_estimated(way: Native, bad: object) -> None:
    with edge(usage_act(way, bad), provider=PROVIDERS[way]) as it:
        completion = it.client.complete(asked(way))
        assert completion.text == "good"
        assert completion.usage.estimated_calls == 1
        assert 0 < completion.usage.input_tokens < 100


ODD: dict[str, tuple[Native, Act, str]] = {
    "unknown events": (
        "messages",
        message_stream(
            {"type": "content_block_haiku", "index": "x"}, {"type": "ping"}, {"no": "type"},
            *text_events(0, "go"),
            {"type": "content_block_delta", "index": 0, "delta": {"x": 1}},
            {"type": "content_block_delta", "index": 0, "delta": {"text": "od"}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "server_thing"}},
        ),
        "good",
    ),
    "blocks out of their sequence": (
        "messages", message_stream(*text_events(5, "od"), *text_events(2, "go")), "good",
    ),
    "a delta without its block": (
        "messages",
        message_stream({"type": "content_block_delta", "index": 0, "delta": {"text": "good"}}),
        "good",
    ),
    "an error as text": (
        "messages", Send({"error": "nobody is there"}),
        "ModelUnavailable: the model server did not",
    ),
    "the context is full": (
        "messages", message_stream(*text_events(0, "go"), stop="model_context_window_exceeded"),
        "ReplyFailed: the reply filled the model's context window",
    ),
    "paused": (
        "messages", message_stream(stop="pause_turn"), "ReplyFailed: the model called a tool",
    ),
    "a call that nobody offered": (
        "messages",
        message_stream(
            *block_events(0, {"type": "tool_use", "id": "t", "name": "x", "input": {}}),
            stop="tool_use",
        ),
        "ReplyFailed: the model called a tool instead",
    ),
    "several candidates": (
        "gemini",
        Send(generated("good") | {"candidates": [*generated("good")["candidates"],
                                                  *generated("evil")["candidates"]]}),
        "good",
    ),
    "a blocked prompt": (
        "gemini",
        Send(
            {
                "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
                "usageMetadata": GEMINI_USAGE,
            }
        ),
        "ReplyFailed: the server refused the prompt by its content policy (PROHIBITED_CONTENT)",
    ),
    "recitation": (
        "gemini", generated_stream("part", finish="RECITATION"),
        "ReplyFailed: the server stopped the reply, because it repeats",
    ),
    "a malformed call": (
        "gemini", Send(generated(finish="MALFORMED_FUNCTION_CALL")),
        "ReplyFailed: the model called a tool in a form that cannot be read",
    ),
    "a call that nobody offered, of Gemini": (
        "gemini", Send(generated({"functionCall": {"name": "x"}})),
        "ReplyFailed: the model called a tool instead",
    ),
    "parts of odd forms": (
        "gemini",
        Send({"candidates": [{"content": {"parts": [7, None, {"text": "good"}, {"inlineData": {}}]},
                              "finishReason": "STOP"}, "x"]}),
        "good",
    ),
    "no candidate": (
        "gemini", Send({"candidates": [], "usageMetadata": GEMINI_USAGE}),
        "ReplyBroken: the reply just ends",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_reply_is_read_or_named(name: str) -> None:
    way, act, said = ODD[name]
    with edge(*[act] * 9, provider=PROVIDERS[way]) as it:
        assert outcome(lambda: it.client.complete(asked(way))).startswith(said)


@each_wire
@pytest.mark.parametrize("depth", [50, 500, 900])
def test_a_document_that_is_nested_deep_is_read_or_named(way: Native, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    call = f'{{"name": "read", "id": "t", "type": "tool_use", "input": {deep}, "args": {deep}}}'
    signed = '{"type": "thinking", "thinking": "", "signature": "s"}'
    bodies = {
        "messages": f'{{"type": "message", "content": [{signed}, {call}], '
        '"stop_reason": "tool_use"}',
        "gemini": '{"candidates": [{"finishReason": "STOP", "content": {"parts": '
        f'[{{"functionCall": {call}, "thoughtSignature": "s"}}]}}}}]}}',
    }
    errors = [
        '{"error":' * depth + '"no"' + "}" * depth,
        f'{{"error": {{"code": 400, "message": {deep}, "status": "X", "details": [{deep}]}}}}',
    ]
    for body in (bodies[way], *errors):
        with edge(*[Send(body)] * 9, provider=PROVIDERS[way]) as it:
            said = outcome(lambda: it.ask(asked(way, tools=(READ,))))
            assert "Recursion" not in said and len(said) < 2_000


@each_wire
def test_errors_do_not_quote_the_key(way: Native) -> None:
    key = "sk-test-0123456789"
    said = f"the key {key} is not valid"
    part = message_stream(*text_events(0, f"your key is {key}")) if way == "messages" else (
        generated_stream(f"your key is {key}")
    )  # fmt: skip
    with edge(native_error(way, 401, said), part, provider=PROVIDERS[way], key=key) as it:
        with pytest.raises(ModelUnavailable) as caught:
            it.client.complete(asked(way))
        assert key not in caught.value.message and "[redacted]" in caught.value.message
        assert it.client.complete(asked(way)).text == "your key is [redacted]"


# Waits


DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"


def quota(quota_id: str, said: str = "You exceeded your current quota.") -> Send:
    details = [
        {"@type": "google.rpc.QuotaFailure", "violations": [{"quotaId": quota_id}]},
        {"@type": "google.rpc.RetryInfo", "retryDelay": "34.5s"},
    ]
    return Send(error_body("gemini", 429, said, details), 429)


def test_quotas_that_pass_are_told_from_those_that_do_not() -> None:
    good_one = good("gemini", "good")
    for waits, act in (
        (True, quota(MINUTE)),
        (False, quota(DAY)),
        (False, quota(MINUTE, "limit: 0")),
    ):
        with edge(act, good_one, provider=PROVIDERS["gemini"]) as it:
            said = outcome(lambda: it.client.complete(asked("gemini")))
            assert said.startswith("good" if waits else "ModelUnavailable: the account at")
            assert it.clock.sleeps == ([34.5] if waits else [])


@pytest.mark.parametrize("whose", ["workspace API", "workspace monthly API"])
def test_a_limit_of_one_s_own_that_is_reached_is_not_waited_for(whose: str) -> None:
    said = f"You have reached your specified {whose} usage limits."
    with edge(*[native_error("messages", 429, said)] * 2, provider=PROVIDERS["messages"]) as it:
        with pytest.raises(ModelUnavailable, match="has no quota left"):
            it.client.complete(asked("messages"))
        assert it.requests == 1


def test_anthropic_s_limits_say_when_they_begin_anew() -> None:
    # The wall of the edge's clock stands at 2027-01-15T08:16:40Z.
    headers = {
        "anthropic_ratelimit_requests_remaining": "0",
        "anthropic_ratelimit_requests_reset": "2027-01-15T08:16:47Z",
        "anthropic_ratelimit_tokens_remaining": "0",
        "anthropic_ratelimit_tokens_reset": "2027-01-15T08:16:52Z",
        "anthropic_ratelimit_input_tokens_remaining": "900",
        "anthropic_ratelimit_input_tokens_reset": "2027-01-15T08:36:40Z",
        "anthropic_ratelimit_output_tokens_remaining": "0",
        "anthropic_ratelimit_output_tokens_reset": "soon",
    }
    limited = native_error("messages", 429, "slow down", **headers)
    with edge(limited, good("messages", "good"), provider=PROVIDERS["messages"]) as it:
        assert it.client.complete(asked("messages")).text == "good"
        assert it.clock.sleeps == [12.0]


@pytest.mark.parametrize(
    ("base", "provider", "url"),
    [
        (None, "messages", "https://api.anthropic.com/v1/x"),
        ("https://gate.example/anthropic/", "messages", "https://gate.example/anthropic/v1/x"),
        ("https://gate.example/v1", "messages", "https://gate.example/v1/x"),
        (None, "gemini", "https://generativelanguage.googleapis.com/v1beta/x"),
        ("https://gate.example/v1alpha", "gemini", "https://gate.example/v1alpha/x"),
        (
            "https://aiplatform.googleapis.com/v1/publishers/google",
            "gemini",
            "https://aiplatform.googleapis.com/v1/publishers/google/x",
        ),
    ],
)
def test_the_path_follows_the_version(base: str | None, provider: Native, url: str) -> None:
    assert native_url(ModelAccess(base, "k", provider=PROVIDERS[provider]), "/x") == url


def test_a_failed_call_counts_what_it_took() -> None:
    with (
        edge(
            message_stream(*text_events(0, "part"), stop="refusal"), provider=PROVIDERS["messages"]
        ) as it,
        pytest.raises(ReplyFailed) as caught,
    ):
        it.client.complete(asked("messages"))
    assert caught.value.usage.input_tokens == sum(MESSAGES_USAGE.values()) - 5
    assert caught.value.lost == ("part",)


def test_a_stream_that_ends_before_its_stop_event_is_whole_if_it_said_why() -> None:
    """A gateway may drop the last event; the reason before it says that the reply is whole."""
    whole = Stream([message_begin(), *text_events(0, "good"), message_end("end_turn")[0]])
    with edge(whole, provider=PROVIDERS["messages"]) as it:
        assert it.client.complete(asked("messages")).text == "good"
