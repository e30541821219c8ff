"""Attacks of an agent on the relay: no other model, tool, file or address is reached through it.

Each attack has a control beside it: an ordinary call is answered after it, or in its place.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm import relay
from shared.llm.relay_wires import CHAT, CallRefused, clean_call, find_wire
from tests.shared.llm.edge import chat_document, chat_stream, response_document
from tests.shared.llm.relay_edge import TERMS, ask, call_bytes, connected, relay_of, relayed
from tests.shared.llm.scripted_server import Send, Stream

RESPONSES = "/v1/responses"
GEMINI = "/v1beta/models/x:generateContent"
MESSAGES = "/v1/messages"
CHATS = "/v1/chat/completions"
IMAGE = "data:image/png;base64,AAAA"


def sent(folder: Path, body: dict[str, Any], route: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what the server got of a call, and the relay's account."""
    reply = response_document(text="ok") if route == RESPONSES else chat_document()
    with relay_of(folder, Send(reply)) as (agent, server):
        assert agent.post(body, route).status == 200
        return server.bodies[0], agent.relay.account


OWN = {"type": "function", "function": {"name": "edit", "parameters": {}}}
OWN_RESPONSES = {"type": "function", "name": "edit", "parameters": {}}


@pytest.mark.parametrize(
    ("route", "own", "hosted", "name"),
    [
        (RESPONSES, OWN_RESPONSES, {"type": "web_search"}, "web_search"),
        (RESPONSES, OWN_RESPONSES, {"type": "web_search_preview"}, "web_search_preview"),
        (RESPONSES, OWN_RESPONSES, {"type": "file_search", "vector_store_ids": ["v"]}, "file_sea"),
        (RESPONSES, OWN_RESPONSES, {"type": "code_interpreter", "container": {}}, "code_interp"),
        (RESPONSES, OWN_RESPONSES, {"type": "computer_use_preview"}, "computer_use"),
        (RESPONSES, OWN_RESPONSES, {"type": "image_generation"}, "image_generation"),
        (RESPONSES, OWN_RESPONSES, {"type": "mcp", "server_url": "http://x"}, "mcp"),
        (CHATS, OWN, {"type": "mcp", "server_url": "http://x"}, "mcp"),
        (CHATS, OWN, {"google_search": {}}, "google_search"),
        (CHATS, OWN, {"type": "web_search", "function": {"name": "f"}}, "web_search"),
        (MESSAGES, {"name": "edit", "input_schema": {}}, {"type": "web_search_20250305"}, "web_s"),
        (MESSAGES, {"name": "edit", "input_schema": {}}, {"type": "web_fetch_20250910"}, "web_f"),
        (MESSAGES, {"name": "edit", "input_schema": {}}, {"type": "code_execution_20250522"}, "co"),
        (GEMINI, {"functionDeclarations": []}, {"googleSearch": {}}, "googleSearch"),
    ],
)
def test_a_tool_of_the_server_is_removed_and_named(
    tmp_path: Path, route: str, own: dict[str, Any], hosted: Any, name: str
) -> None:
    said = {RESPONSES: "input", GEMINI: "contents"}.get(route, "messages")
    body = {said: [], "tools": [hosted, own], "tool_choice": hosted}
    got, account = sent(tmp_path, body, route)
    assert got["tools"] == [own]
    assert "tool_choice" not in got
    assert f"the tool {name}" in " ".join(account)


def test_a_tool_of_the_server_hides_in_no_other_tool(tmp_path: Path) -> None:
    body: dict[str, Any] = {
        "contents": [],
        "tools": [{"functionDeclarations": [], "googleSearch": {}}],
    }
    got, account = sent(tmp_path, body, GEMINI)
    assert got["tools"] == [{"functionDeclarations": []}]
    assert "the tool googleSearch" in account[0]


PARTS = {
    CHATS: (
        {"type": "image_url", "image_url": {"url": IMAGE}},
        {"type": "image_url", "image_url": {"url": "http://10.0.0.1/"}},
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
        {"type": "image_url", "image_url": {"url": "/etc/passwd"}},
        {"type": "image_url", "image_url": "http://10.0.0.1/"},
        {"image_url": "http://10.0.0.1/"},
        {"type": "video_url", "video_url": {"url": "http://10.0.0.1/"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "file", "file": {"file_data": "http://10.0.0.1/"}},
        {"type": "text", "text": "", "image_url": {"url": "http://10.0.0.1/"}},
        {"type": ["text"], "text": ""},
    ),
    RESPONSES: (
        {"type": "input_image", "image_url": IMAGE},
        {"type": "input_image", "image_url": "https://10.0.0.1/"},
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_file", "file_url": "https://10.0.0.1/"},
        {"type": "input_file", "file_data": "file:///etc/passwd"},
        {"type": "computer_screenshot", "image_url": "https://10.0.0.1/"},
    ),
    GEMINI: (
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"fileData": {"fileUri": "gs://bucket/file"}},
        {"file_data": {"file_uri": "https://10.0.0.1/"}},
        {"functionResponse": {"name": "f", "parts": [{"fileData": {"fileUri": "http://x"}}]}},
    ),
    MESSAGES: (
        {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://10.0.0.1/"}},
        {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
        {"type": "tool_result", "content": [{"type": "image", "source": {"url": "file:///x"}}]},
        {"type": "container_upload", "file_id": "file-1"},
    ),
}


@pytest.mark.parametrize(
    ("route", "own", "part"),
    [(route, own, part) for route, (own, *others) in PARTS.items() for part in others],
)
def test_what_a_server_would_fetch_is_removed_and_named(
    tmp_path: Path, route: str, own: dict[str, Any], part: dict[str, Any]
) -> None:
    name, inner = {RESPONSES: ("input", "content"), GEMINI: ("contents", "parts")}.get(
        route, ("messages", "content")
    )
    got, account = sent(tmp_path, {name: [{"role": "user", inner: [own, part]}]}, route)
    kept, removed = got[name][0][inner]
    assert kept == own
    assert "was removed" in json.dumps(removed)
    assert not any(each in json.dumps(got) for each in ("10.0.0.1", "file:", "file-1", "gs:", "/x"))
    assert "was removed from messages" in " ".join(account)


def test_an_address_in_an_agents_own_data_stays(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"url": "h"}'}}
    messages = [
        {"role": "assistant", "content": "see http://example.com", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "file:///etc/passwd"},
    ]
    got, account = sent(tmp_path, {"messages": messages}, CHATS)
    assert (got["messages"], account) == (messages, ())
    used = {"type": "tool_use", "id": "1", "name": "f", "input": {"url": "http://example.com"}}
    said = [{"role": "assistant", "content": [used]}]
    assert sent(tmp_path, {"messages": said}, MESSAGES)[0]["messages"] == said


@pytest.mark.parametrize(
    "part",
    [
        {"background": True},
        {"service_tier": "priority"},
        {"metadata": {"a": "b"}},
        {"user": "u"},
        {"web_search_options": {"search_context_size": "low"}},
        {"n": 9},
        {"prompt_cache_key": "k"},
        {"extra_body": {}, "mcp_servers": ["m"]},
    ],
)
def test_a_part_that_is_not_known_is_removed_and_named(
    tmp_path: Path, part: dict[str, Any]
) -> None:
    got, account = sent(tmp_path, ask(store=True, **part), CHATS)
    assert got == ask(max_tokens=500)
    assert account == (f"{list(part)[-1]} was removed from calls",)


@pytest.mark.parametrize(
    "body",
    [
        {"input": [], "previous_response_id": "resp_1"},
        {"input": [], "conversation": "conv_1"},
        {"input": [], "prompt": {"id": "p"}},
        {"input": [{"type": "item_reference", "id": "rs_1"}]},
    ],
)
def test_a_call_that_goes_on_with_what_a_server_keeps_is_refused(
    tmp_path: Path, body: dict[str, Any]
) -> None:
    with relay_of(tmp_path, Send(response_document(text="ok"))) as (agent, server):
        got = agent.post(body, RESPONSES)
        assert (got.status, "what a server keeps" in got.words) == (400, True)
        assert not server.received
        assert agent.post({"input": "go"}, RESPONSES).status == 200
        assert server.bodies[0]["store"] is False
        assert "a call was refused" in agent.relay.account[0]


@pytest.mark.parametrize(
    "route",
    [
        "/v1/embeddings",
        "/v1/files",
        "/v1/models",
        "/v1/responses/resp_1/cancel",
        "/v1/../admin",
        "/v1/chat/completions/",
        "http://10.0.0.1/v1/chat/completions",
        "/v1beta/models/x/../../y:generateContent",
        "/v1beta/models/x:streamGenerateContent",
        "/v1beta/models/x:batchEmbedContents",
    ],
)
def test_no_other_route_is_reached(tmp_path: Path, route: str) -> None:
    with relay_of(tmp_path, Send(chat_document())) as (agent, server):
        assert agent.post(ask(), route).status == 404
        assert not server.received
        assert agent.post(ask()).status == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Content-Length: 2\r\nContent-Length: 60\r\n", b"411"),
        (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"411"),
        (b"Transfer-Encoding: chunked\r\n", b"411"),
        (b"Content-Length: +2\r\n", b"400"),
        (b"Content-Length: 2, 60\r\n", b"400"),
        (b"Content-Length: -1\r\n", b"400"),
        (b"Content-Length: 2\r\nContent-Encoding: gzip\r\n", b"415"),
        (b"X: " + b"y" * 70_000 + b"\r\n", b"431"),
        (b"X: y\r\n" * 200, b"431"),
        (b"", b"411"),
    ],
)
def test_no_second_call_is_smuggled_in_a_first(tmp_path: Path, head: bytes, status: bytes) -> None:
    with relay_of(tmp_path, Send(chat_document())) as (agent, server):
        first = b"POST /v1/chat/completions HTTP/1.1\r\n" + head + b"\r\n{}"
        got = agent.raw(first + call_bytes(ask()))
        assert got.startswith(b"HTTP/1.1 " + status)
        assert got.count(b"HTTP/1.1") == 1
        assert not server.received
        assert agent.post(ask()).status == 200


def test_a_call_behind_a_good_call_is_not_read(tmp_path: Path) -> None:
    with relay_of(tmp_path, *[Send(chat_document())] * 2) as (agent, server):
        assert agent.raw(call_bytes(ask()) * 2).count(b"HTTP/1.1 200") == 1
        assert len(server.received) == 1


def test_a_hundred_megabytes_are_refused_unread(tmp_path: Path) -> None:
    with relay_of(tmp_path, Send(chat_document())) as (agent, server):
        with connected(agent.path) as sending:
            sending.sendall(b"POST /v1/responses HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n")
            for _ in range(100):
                sending.sendall(b"x" * 1_000_000)
            got = b"".join(iter(lambda: sending.recv(1 << 16), b""))
        assert got.startswith(b"HTTP/1.1 413")
        assert not server.received
        assert agent.post(ask()).status == 200


def test_a_deep_or_broken_body_is_refused_in_words(tmp_path: Path) -> None:
    with relay_of(tmp_path, Send(chat_document())) as (agent, server):
        for body in (b"[" * 200_000, b"{", b"3", b'{"messages": NaN}', b"\xff", b""):
            got = agent.post(body)
            assert (got.status, "JSON" in got.words) == (400, True)
        assert not server.received
        assert agent.post({"messages": "\ud800"}).status == 200


def test_a_thousand_connections_leave_room_for_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_READ_SECONDS", 0.3)
    with relay_of(tmp_path, Send(chat_document())) as (agent, _):
        before = threading.active_count()
        with contextlib.ExitStack() as held:
            for _ in range(1_000):
                held.enter_context(connected(agent.path))
            assert threading.active_count() <= before + relay._CONNECTIONS
        assert agent.post(ask()).status == 200


def test_a_call_that_drips_in_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "_READ_SECONDS", 0.3)
    monkeypatch.setattr(relay, "_LINGER_SECONDS", 0.1)
    with relay_of(tmp_path, Send(chat_document())) as (agent, server):
        begun = time.monotonic()
        with connected(agent.path) as dripping, pytest.raises(OSError):
            while time.monotonic() < begun + 5:
                dripping.sendall(b"P")
                time.sleep(0.02)
        assert time.monotonic() < begun + 2
        assert not server.received
        assert agent.post(ask()).status == 200


def test_no_key_comes_back_to_the_agent(tmp_path: Path) -> None:
    key = "sk-test-0123456789"
    echo = chat_document(f"your key is {key}")
    script = (
        Send(echo),
        chat_stream(f"{key} and more", "x"),
        Send({"error": {"message": f"Incorrect API key: {key}"}}, status=400),
        Send({"error": {"message": f"Incorrect API key: {key}"}}, status=401),
    )
    calls = (ask("1"), ask("2", stream=True), ask("3"), ask("4"))
    with relay_of(tmp_path, *script, key=key) as (agent, _):
        got = [agent.post(each) for each in calls]
    assert [each.status for each in got] == [200, 200, 400, 400]
    assert b"[redacted]" in got[0].body
    assert b"[redacted]" in got[1].body
    assert not any(key.encode() in each.body for each in got)
    assert key not in (tmp_path / "transcript.jsonl").read_text()
    assert key not in " ".join(agent.relay.account)


def test_an_agent_that_goes_on_after_its_bound_reaches_nobody(tmp_path: Path) -> None:
    with relay_of(tmp_path, *[Send(chat_document())] * 99, terms=replace(TERMS, most_calls=1)) as (
        agent,
        server,
    ):
        got = [agent.post(ask(str(each))).status for each in range(40)]
        assert (got[:1], set(got[1:]), len(server.received)) == ([200], {400}, 1)
    assert agent.relay.account == ("the bound of 1 calls is reached",)


def test_a_transcript_is_not_filled_by_calls(tmp_path: Path) -> None:
    terms = replace(TERMS, most_bytes=5_000)
    with relay_of(tmp_path, *[Send(chat_document())] * 9, terms=terms) as (agent, server):
        got = [agent.post(ask(f"{each}" + "x" * 2_000)).status for each in range(4)]
        assert (got, len(server.received)) == ([200, 200, 400, 400], 2)
    assert agent.relay.reached == "the bound of 5,000 bytes of calls is reached"


def test_an_account_is_bounded_and_holds_no_escapes(tmp_path: Path) -> None:
    body = ask() | {f"\x1b[31m{each}" + "x" * 500: 1 for each in range(200)}
    with relay_of(tmp_path, Send(chat_document())) as (agent, _):
        assert agent.post(body).status == 200
    assert len(agent.relay.account) == 50
    assert all(each.isprintable() and len(each) < 100 for each in agent.relay.account)


@pytest.mark.rest
def test_an_endless_event_is_given_up(tmp_path: Path) -> None:
    endless = Stream([json.dumps({"x": "y" * 9_000_000})])
    with relay_of(tmp_path, endless, chat_stream("ok")) as (agent, server):
        assert agent.post(ask(stream=True)).status == 200
        assert len(server.received) == 2


def test_a_kill_in_the_middle_pays_only_for_what_had_not_come_back(tmp_path: Path) -> None:
    script = [Send(chat_document(str(each))) for each in range(3)]
    with relay_of(tmp_path, *script) as (agent, _):
        first = [agent.post(ask(str(each))) for each in range(2)]
    # What a kill leaves: an intent without an outcome, and a torn line.
    path = tmp_path / "transcript.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    with relay_of(tmp_path, Send(chat_document("1"))) as (agent, server):
        assert [agent.post(ask(str(each))) for each in range(2)] == first
        assert len(server.received) == 1
    with relayed(None, tmp_path) as agent:
        assert [agent.post(ask(str(each))) for each in range(2)] == first


INNER = (
    "type content parts input output image_url url file_id role tools source text function x "
    "generationConfig reasoning effort include tool_choice name"
)
OUTER = (
    "messages input contents system tools tool_choice reasoning generationConfig include x "
    "max_tokens temperature stream model previous_response_id"
)


def names_of(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split(" "))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names_of(INNER), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.rest
@given(
    st.sampled_from([CHATS, RESPONSES, GEMINI, MESSAGES]),
    st.dictionaries(names_of(OUTER), values, max_size=6),
)
def test_no_call_breaks_the_cleaning(route: str, body: dict[str, Any]) -> None:
    wire, known = find_wire(route)
    try:
        call = clean_call(wire, known, json.dumps(body).encode(), lambda words: None)
    except CallRefused:
        return
    kept = json.loads(call.body)
    assert kept.keys() <= wire.kept | {"include"}
    again = clean_call(wire, known, call.body.encode(), lambda words: None)
    assert json.loads(again.body) == kept, "what is clean stays as it is"


def test_the_control_of_cleaning_keeps_an_ordinary_call() -> None:
    body = ask(tools=[OWN], tool_choice="auto", parallel_tool_calls=True, top_p=0.5)
    call = clean_call(CHAT, CHATS, json.dumps(body).encode(), lambda words: pytest.fail(words))
    assert json.loads(call.body) == {k: v for k, v in body.items() if k != "model"}
