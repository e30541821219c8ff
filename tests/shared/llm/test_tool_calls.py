"""Tools over real HTTP: on both wires, as text, in pieces, refused, and on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.responses import FunctionToolParam, ResponseInputParam
from pydantic import TypeAdapter

from shared.llm.budget import estimate_input
from shared.llm.model_client import Completion, ModelTool, ReplyFailed, ToolCall, ToolTurn, Usage
from shared.llm.tool_calls import CallPieces, calls_in_text, calls_of_response
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import AUTHORED, request_key
from tests.shared.llm.edge import (
    chat_chunk,
    chat_document,
    chat_request,
    chat_stream,
    created_event,
    edge,
    error_answer,
    planner_request,
    response_document,
    response_stream,
    usage_chunk,
)
from tests.shared.llm.scripted_server import Send, Stream

READ = ModelTool(
    "read", "shows a file", {"path": {"type": "string", "examples": ["a.py"]}}, required=("path",)
)
CALL = ToolCall("call_7", "read", '{"path": "b.py"}')
SAID = ToolTurn("Let me look.", (CALL,), ("x = 1",))
CHAT_CALL = {
    "id": "call_7",
    "type": "function",
    "function": {"name": "read", "arguments": CALL.arguments},
}
RESPONSE_CALL = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_7",
    "name": "read",
    "arguments": CALL.arguments,
    "status": "completed",
}


def test_a_chat_reply_can_be_a_call_whole_or_in_pieces() -> None:
    first = {"index": 0, **CHAT_CALL, "function": {"name": "read", "arguments": '{"path": '}}
    rest = {"index": 0, "function": {"arguments": '"b.py"}'}}
    pieces = [chat_chunk(tool_calls=[first]), chat_chunk(tool_calls=[rest])]
    stream = Stream([*pieces, chat_chunk("tool_calls"), usage_chunk(), "[DONE]"])
    whole = Send(chat_document(None, "tool_calls", tool_calls=[CHAT_CALL]))
    with edge(stream, whole) as it:
        for _ in range(2):
            completion = it.client.complete(chat_request(tools=(READ,)))
            assert (completion.text, completion.calls) == ("", (CALL,))
            assert completion.usage.calls == 1


def test_a_response_can_be_a_call() -> None:
    document = response_document() | {"output": [RESPONSE_CALL]}
    final = {"type": "response.completed", "sequence_number": 2, "response": document}
    with edge(Stream([created_event(), final])) as it:
        assert it.client.complete(planner_request(tools=(READ,))).calls == (CALL,)


def test_what_was_called_and_answered_is_sent_on_both_wires() -> None:
    with edge(chat_stream("done"), response_stream("done")) as it:
        it.client.complete(chat_request(tools=(READ,), exchanges=(SAID,)))
        it.client.complete(planner_request(tools=(READ,), exchanges=(SAID,)))
        chat, response = it.server.bodies
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(chat["messages"])
    TypeAdapter(list[ChatCompletionToolParam]).validate_python(chat["tools"])
    assert chat["messages"][1:] == [
        {"role": "assistant", "content": "Let me look.", "tool_calls": [CHAT_CALL]},
        {"role": "tool", "tool_call_id": "call_7", "content": "x = 1"},
    ]
    assert chat["tools"][0]["function"]["parameters"]["required"] == ["path"]
    TypeAdapter(ResponseInputParam).validate_python(response["input"])
    TypeAdapter(list[FunctionToolParam]).validate_python(response["tools"])
    assert [each.get("type") for each in response["input"]] == [
        None,
        None,
        "function_call",
        "function_call_output",
    ]


def test_requests_without_tools_are_as_ever() -> None:
    with edge(chat_stream("a"), response_stream("b")) as it:
        it.client.complete(chat_request())
        it.client.complete(planner_request())
        chat, response = it.server.bodies
    assert "tools" not in chat and chat["messages"] == [{"role": "user", "content": "Say hello."}]
    assert "tools" not in response and response["input"] == "Plan it."


@pytest.mark.parametrize("words", ["tools is not supported", "`function` calling is not enabled"])
def test_a_server_that_refuses_tools_gets_them_as_text(words: str) -> None:
    call = '```json\n{"tool": "read", "path": "b.py"}\n```'
    with edge(error_answer(400, words), chat_stream(call), chat_stream("done")) as it:
        asked = it.client.complete(chat_request(tools=(READ,)))
        assert asked.calls == (ToolCall("call_1", "read", CALL.arguments),)
        assert "tools were refused" in asked.adjustments[0]
        exchange = ToolTurn("", asked.calls, ("x = 1",))
        done = it.client.complete(chat_request(tools=(READ,), exchanges=(exchange,)))
        assert (done.text, done.calls) == ("done", ())
        _, first, second = it.server.bodies
    assert "tools" not in first and "tools" not in second
    assert '{"tool": "read", "path": "a.py"}: shows a file' in first["messages"][0]["content"]
    assert second["messages"][0]["content"].endswith(
        'You called {"tool": "read", "path": "b.py"}, and this is the answer:\n\nx = 1\n'
    )


def test_a_call_that_nobody_offered_fails_as_ever() -> None:
    with (
        edge(Send(chat_document(None, "tool_calls", tool_calls=[CHAT_CALL]))) as it,
        pytest.raises(ReplyFailed, match="called a tool instead of replying"),
    ):
        it.client.complete(chat_request())


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ('{"tool": "read", "path": "a"}', '{"path": "a"}'),
        ('<think>hm</think>\n{"tool": "read"}', "{}"),
        ('{"name": "read", "arguments": {"path": "a"}}', '{"path": "a"}'),
    ],
)
def test_a_reply_of_one_call_is_a_call(text: str, given: str) -> None:
    assert calls_in_text(text, (READ,)) == (ToolCall("call_1", "read", given),)


@pytest.mark.parametrize(
    "text",
    [
        'I call {"tool": "read"}',
        '{"tool": "write"}',
        '{"tool": ["read"]}',
        '{"summary": "s", "writes": []}',
        "{broken}",
        "{" * 50_000 + "}",
        "<think>never ends",
        "",
    ],
)
def test_any_other_reply_is_not_a_call(text: str) -> None:
    assert calls_in_text(text, (READ,)) == ()
    assert calls_in_text('{"tool": "read"}', ()) == ()


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["index", "id", "function", "name", "arguments", "type", "call_id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.rest
@given(_JSON, st.lists(st.dictionaries(st.sampled_from(["type", "name", "arguments"]), _JSON)))
def test_calls_of_any_form_are_read_or_left_out(pieces: object, items: Any) -> None:
    gathered = CallPieces()
    gathered.take(pieces)
    gathered.take([pieces])
    for call in (*gathered.calls, *calls_of_response(items)):
        assert call.name and call.id


def test_calls_that_share_an_index_are_told_apart_by_their_ids() -> None:
    gathered = CallPieces()
    for identity, path in (("a", "x.py"), ("b", "y.py")):
        for name, part in (("read", '{"path": '), ("", f'"{path}"}}')):
            function = {"name": name, "arguments": part}
            gathered.take([{"index": 0, "id": identity, "function": function}])
    assert [(each.id, each.name, each.arguments) for each in gathered.calls] == [
        ("a", "read", '{"path": "x.py"}'),
        ("b", "read", '{"path": "y.py"}'),
    ]


def test_tools_and_answers_are_part_of_what_a_call_takes_and_of_its_record(tmp_path: Path) -> None:
    plain, asked = chat_request(), chat_request(tools=(READ,), exchanges=(SAID,))
    longer = chat_request(exchanges=(ToolTurn("", (CALL,), ("x" * 3000,)),))
    assert estimate_input(longer) > estimate_input(plain) + 900
    assert len({request_key(each) for each in (plain, asked, longer)}) == 3
    completion = Completion("", "m", Usage(1), calls=(CALL,))
    path = tmp_path / "transcript.jsonl"
    with Transcript.open(path, AUTHORED, secrets=("b.py",)) as transcript:
        transcript.finish(transcript.begin(asked), completion)
    found = Transcript.read(path).lookup(asked)
    assert found is not None and found.calls == (
        ToolCall("call_7", "read", '{"path": "[redacted]"}'),
    )
    assert "b.py" not in path.read_text()
