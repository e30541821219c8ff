"""The relay: an agent's calls reach the model of the run, as calls of the run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import BudgetReached, ModelUnavailable
from shared.llm import relay
from shared.llm.budget import Budget
from shared.llm.model_client import Completion, LlmClient, Provider, Request
from shared.llm.relay_wires import goes_in_circles
from shared.llm.replayed_replies import NotOnRecord
from tests.shared.llm.edge import (
    chat_chunk,
    chat_document,
    chat_stream,
    error_answer,
    response_document,
    response_stream,
)
from tests.shared.llm.native_edge import generated, message
from tests.shared.llm.relay_edge import (
    TERMS,
    Agent,
    ask,
    call_bytes,
    connected,
    events_of,
    relay_of,
    relayed,
)
from tests.shared.llm.scripted_server import Reset, Send, Silence, Stream, scripted_server

RESPONSES = "/v1/responses"
GEMINI = "/v1beta/models/any:generateContent"
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"


def test_a_call_reaches_the_runs_model_with_the_runs_limits(tmp_path: Path) -> None:
    with relay_of(tmp_path, Send(chat_document())) as (agent, server):
        got = agent.post(ask(model="gpt-huge", max_tokens=9_000, temperature=0.3))
        [sent] = server.received
    assert (got.status, json.loads(got.body)) == (200, chat_document())
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer sk-test-0123456789"
    assert sent.body == ask(max_tokens=500, temperature=0.3)
    assert agent.relay.account == ("gpt-huge was asked for; the model is small-1",)


def test_a_stream_passes_as_its_bytes_are(tmp_path: Path) -> None:
    stream = chat_stream("a", "b", "c")
    with relay_of(tmp_path, stream) as (agent, server):
        got = agent.post(ask(stream=True))
        assert server.bodies[0]["stream_options"] == {"include_usage": True}
    assert got.body == events_of(stream.events)


def test_the_last_event_comes_after_the_reply_is_on_record(tmp_path: Path) -> None:
    stream = response_stream("the change")
    recorded, looked = threading.Event(), threading.Event()

    class Late:
        """The run's client, which returns only once somebody has looked."""

        def __init__(self, client: LlmClient) -> None:
            self._client = client

        def complete(self, request: Request) -> Completion:
            completion = self._client.complete(request)
            recorded.set()
            assert looked.wait(10)
            return completion

    with relay_of(tmp_path, stream, around=Late) as (agent, _), connected(agent.path) as asking:
        asking.sendall(call_bytes({"input": "go", "stream": True}, RESPONSES))
        assert recorded.wait(10)
        early = asking.recv(1 << 16)
        looked.set()
        rest = b"".join(iter(lambda: asking.recv(1 << 16), b""))
    assert b"output_text.delta" in early
    assert (b"response.completed" in early, b"response.completed" in rest) == (False, True)


@pytest.mark.parametrize(
    ("route", "sent", "reply", "path", "limit"),
    [
        (
            RESPONSES,
            {"input": "go"},
            response_document(text="done"),
            RESPONSES,
            "max_output_tokens",
        ),
        (
            GEMINI,
            {"contents": [{"role": "user", "parts": [{"text": "go"}]}]},
            {
                "candidates": [{"content": {"parts": [{"text": "done"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2},
            },
            "/v1beta/models/small-1:generateContent",
            "generationConfig",
        ),
        (
            MESSAGES,
            {"messages": [{"role": "user", "content": "go"}]},
            {
                "type": "message",
                "content": [{"type": "text", "text": "done"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 7, "output_tokens": 2},
            },
            MESSAGES,
            "max_tokens",
        ),
    ],
)
def test_each_wire_reaches_its_own_route(
    tmp_path: Path, route: str, sent: dict[str, Any], reply: dict[str, Any], path: str, limit: str
) -> None:
    with relay_of(tmp_path, Send(reply)) as (agent, server):
        got = agent.post({"model": "m", **sent}, route)
        assert [each.path for each in server.received] == [path]
        limited = server.bodies[0][limit]
    assert (got.status, json.loads(got.body)) == (200, reply)
    assert limited in (500, {"maxOutputTokens": 500})
    with relayed(None, tmp_path) as agent:
        assert agent.post({"model": "m", **sent}, route) == got


# The test server's address ends in `/v1`, which is then the version of all wires but Gemini's chat.
OF_PROVIDERS = [
    (Provider.ANTHROPIC, MESSAGES, {"messages": [{"role": "user", "content": "go"}]},
     message("done"), MESSAGES, "x-api-key"),
    (Provider.ANTHROPIC, CHAT, {"messages": [{"role": "user", "content": "go"}]},
     chat_document("done"), CHAT, "authorization"),
    (Provider.GEMINI, GEMINI, {"contents": [{"role": "user", "parts": [{"text": "go"}]}]},
     generated("done"), "/v1/models/small-1:generateContent", "x-goog-api-key"),
    (Provider.GEMINI, CHAT, {"messages": [{"role": "user", "content": "go"}]},
     chat_document("done"), "/v1beta/openai/chat/completions", "authorization"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "route", "sent", "reply", "path", "header"), OF_PROVIDERS)
def test_an_agent_s_call_goes_where_its_provider_speaks_its_wire(
    tmp_path: Path,
    provider: Provider,
    route: str,
    sent: dict[str, Any],
    reply: dict[str, Any],
    path: str,
    header: str,
) -> None:
    with relay_of(tmp_path, Send(reply), provider=provider) as (agent, server):
        got = agent.post({"model": "m", **sent}, route)
        (received,) = server.received
    assert (got.status, json.loads(got.body)) == (200, reply)
    assert received.path == path
    keys = {"x-api-key", "x-goog-api-key", "authorization"} & received.headers.keys()
    assert keys == {header}, "the key is sent once"


@pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.GEMINI])
def test_a_wire_that_the_provider_lacks_reaches_nobody(tmp_path: Path, provider: Provider) -> None:
    with relay_of(tmp_path, provider=provider) as (agent, server):
        assert agent.post({"input": "go"}, RESPONSES).status == 400
        assert "does not speak Responses" in str(agent.relay.failure)
        assert server.received == []


def test_a_replay_asks_nobody_and_gives_the_same_bytes(tmp_path: Path) -> None:
    script = (Send(chat_document("one")), chat_stream("t", "wo"), Send(chat_document("three")))
    calls = (ask("1"), ask("2", stream=True), ask("1"))
    with relay_of(tmp_path, *script) as (agent, _):
        first = [agent.post(each) for each in calls]
    with relayed(None, tmp_path) as agent:
        assert [agent.post(each) for each in calls] == first
    with relayed(None, tmp_path) as agent:
        assert [agent.post(calls[1]), agent.post(calls[0])] == [first[1], first[0]]


def test_a_replay_without_the_call_ends_the_agent(tmp_path: Path) -> None:
    with relay_of(tmp_path, Send(chat_document())) as (agent, _):
        agent.post(ask("1"))
    with relayed(None, tmp_path) as agent:
        got = agent.post(ask("2"))
        assert got.status == 400
        assert agent.relay.ended.is_set()
    assert isinstance(agent.relay.failure, NotOnRecord)
    assert "the agent's call differs from its character" in agent.relay.failure.message


def test_masks_find_the_call_whose_ids_differ(tmp_path: Path) -> None:
    terms = replace(TERMS, masks=(r'"id":"(?P<id>[a-z0-9-]+)"', r"(?P<date>\d{4}-\d\d-\d\d)"))

    def call(identity: str, text: str = "x") -> dict[str, Any]:
        part = {"type": "message", "id": identity, "role": "user", "content": text}
        return {"input": [part]}

    with relay_of(tmp_path, Send(response_document(text="done")), terms=terms) as (agent, _):
        first = agent.post(call("a-1"), RESPONSES)
        assert agent.relay.masks_used == ("id",)
    with relayed(None, tmp_path, terms) as agent:
        assert agent.post(call("b-22"), RESPONSES) == first
        assert agent.post(call("b-22", "y"), RESPONSES).status == 400


def test_the_bound_of_calls_ends_the_agent_and_nothing_reaches_the_server(tmp_path: Path) -> None:
    terms = replace(TERMS, most_calls=2)
    with relay_of(tmp_path, *[Send(chat_document())] * 9, terms=terms) as (agent, server):
        got = [agent.post(ask(str(number))) for number in range(5)]
        assert len(server.received) == 2
    assert [each.status for each in got] == [200, 200, 400, 400, 400]
    assert got[2].words == "the bound of 2 calls is reached: end now"
    assert agent.relay.ended.is_set()
    assert agent.relay.reached == "the bound of 2 calls is reached"
    assert agent.relay.failure is None


def test_the_bound_of_tokens_holds_as_well(tmp_path: Path) -> None:
    terms = replace(TERMS, most_tokens=15)
    with relay_of(tmp_path, *[Send(chat_document())] * 9, terms=terms) as (agent, _):
        assert [agent.post(ask(str(number))).status for number in range(2)] == [200, 400]
    assert agent.relay.reached == "the bound of 15 tokens is reached"


def _chat_round(command: str, output: str, number: int) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"arguments": command}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def _response_round(command: str, output: str, number: int) -> list[dict[str, Any]]:
    return [
        {"type": "function_call", "call_id": f"c{number}", "name": "sh", "arguments": command},
        {"type": "function_call_output", "call_id": f"c{number}", "output": output},
    ]


def _messages_round(command: str, output: str, number: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "sh", "input": {"command": command}}
    got = {"type": "tool_result", "tool_use_id": f"c{number}", "content": output}
    mark = {"cache_control": {"type": "ephemeral"}} if number % 2 else {}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [got | mark]}]


def _gemini_round(command: str, output: str, number: int) -> list[dict[str, Any]]:
    call = {"functionCall": {"name": "sh", "args": {"command": command}}}
    said = {"role": "model", "parts": [call | {"thoughtSignature": f"s{number}"}]}
    got = {"functionResponse": {"name": "sh", "response": {"output": output}}}
    return [said, {"role": "user", "parts": [got]}]


ROUNDS = (_chat_round, _response_round, _messages_round, _gemini_round)
FIRST = {"role": "user", "content": "Do it."}


@pytest.mark.parametrize("a_round", ROUNDS)
def test_six_equal_rounds_are_a_circle_whatever_the_wire(a_round: Any) -> None:
    def turns(*said: tuple[str, str]) -> list[dict[str, Any]]:
        rounds = (a_round(*each, number) for number, each in enumerate(said))
        return [FIRST, *(turn for each in rounds for turn in each)]

    looks, writes = ("ls", "a.py"), ("touch b", "")
    assert not goes_in_circles(turns())
    assert not goes_in_circles(turns(looks, *[writes] * 5))
    assert goes_in_circles(turns(looks, *[writes] * 6))
    assert goes_in_circles([FIRST, *turns(*[writes] * 40)])
    assert not goes_in_circles(turns(*[writes] * 6, looks))
    assert goes_in_circles(turns(*[looks, writes] * 6))
    assert not goes_in_circles(turns(*[("ls", str(number)) for number in range(9)]))


def test_equal_results_of_several_tools_at_once_are_no_circle() -> None:
    calls = [_response_round(f"touch {number}", "", number) for number in range(50)]
    said, got = ([each[place] for each in calls] for place in (0, 1))
    assert not goes_in_circles([FIRST, *said, *got])
    assert not goes_in_circles([FIRST] * 50)


@given(st.recursive(st.none() | st.text(max_size=2), lambda each: st.lists(each, max_size=4)))
def test_what_is_no_conversation_is_no_circle(turns: Any) -> None:
    assert not goes_in_circles(turns)


def test_an_agent_that_goes_in_circles_is_ended(tmp_path: Path) -> None:
    with relay_of(tmp_path, *[Send(chat_document())] * 9) as (agent, server):
        turns: list[dict[str, Any]] = [FIRST]
        got = []
        for number in range(8):
            got.append(agent.post({"messages": turns}).status)
            turns += _chat_round("ls", "", number)
        assert got == [200] * 6 + [400] * 2 and len(server.received) == 6
    assert agent.relay.ended.is_set()
    assert agent.relay.account == ("it said and got the same 6 times in a row",)


def test_what_differs_between_equal_runs_hides_no_circle() -> None:
    results = [
        f"Chunk ID: {number:06x}\nWall time: 0.05{number} seconds\nOutput:\n3 passed in 0.{number}s"
        for number in range(6)
    ]
    turns = [turn for at, each in enumerate(results) for turn in _response_round("t", each, at)]

    def stable(text: str) -> str:
        return re.sub(r"Chunk ID: [0-9a-f]{6}", "", text)

    assert goes_in_circles(turns, stable) and not goes_in_circles(turns)


def test_an_id_that_a_tool_is_given_tells_rounds_apart() -> None:
    turns = [
        turn
        for number in range(6)
        for turn in (
            {"role": "model", "parts": [{"functionCall": {"name": "get", "args": {"id": number}}}]},
            {"role": "user", "parts": [{"functionResponse": {"response": {"output": "none"}}}]},
        )
    ]
    assert not goes_in_circles(turns)


def test_what_is_said_of_times_tells_rounds_apart() -> None:
    said = [_chat_round(f"look --at 12:0{each} --for {each}s", "none", each) for each in range(6)]
    assert not goes_in_circles([turn for each in said for turn in each])


def test_to_wait_for_something_is_no_circle() -> None:
    waits = [_chat_round("sleep 30; tail -1 build.log", "compiling", each) for each in range(9)]
    assert not goes_in_circles([turn for each in waits for turn in each])


HUGE = b"1" + b"0" * 400


@pytest.mark.parametrize(
    "body",
    [
        *(
            b'{"messages":' + b"[" * deep + b"]" * deep + b"}"
            for deep in (300, 450, 700, 930, 3000)
        ),
        *(
            b'{"messages":[{"role":"user","content":"x","tool_calls":'
            + b"[" * deep
            + b"]" * deep
            + b"}]}"
            for deep in (450, 900, 930)
        ),
        b'{"messages":[],"temperature":' + HUGE + b"}",
        b'{"messages":[],"temperature":1e999}',
        b'{"messages":[],"top_p":1e999}',
        b'{"messages":[],"max_tokens":' + HUGE + b"}",
        b'{"messages":[],"seed":' + HUGE + b"}",
    ],
)
def test_no_body_of_an_agent_ends_the_run(tmp_path: Path, body: bytes) -> None:
    with relay_of(tmp_path, *[Send(chat_document())] * 2) as (agent, _):
        assert agent.post(body).status in (200, 400)
        assert agent.post(ask()).status == 200
    assert agent.relay.failure is None


@pytest.mark.parametrize(
    ("body", "beside"),
    [
        (b"{}", {}),
        (b'{"model":"m","max_tokens":9,"seed":7}', {"seed": 7}),
        (b'{"messages":[{"role":"user","content":"\\ud83d\\ude00 \\ud800 \\u2028"}]}',
         {"messages": [{"role": "user", "content": "\U0001f600 \ufffd \u2028"}]}),
        (b'{"stream_options":{"include_usage":false},"top_p":1e-05,"seed":123456789012345678901}',
         {"top_p": 1e-05, "seed": 123456789012345678901}),
    ],
)  # fmt: skip
def test_a_body_reaches_the_server_with_what_llmch_sets(
    tmp_path: Path, body: bytes, beside: dict[str, Any]
) -> None:
    with relay_of(tmp_path, Send(chat_document())) as (agent, server):
        assert agent.post(body).status == 200
        limit = server.bodies[0].keys() & {"max_tokens", "max_completion_tokens"}
        least = 9 if b"max_tokens" in body else 500
        assert server.bodies == [{"model": "small-1", limit.pop(): least, **beside}]


def test_a_long_stream_comes_whole(tmp_path: Path) -> None:
    stream = chat_stream(*["x" * 700_000] * 14)
    with relay_of(tmp_path, stream) as (agent, _):
        got = agent.post(ask(stream=True))
    assert (got.status, got.is_whole) == (200, True) and len(got.body) > 9_000_000
    assert not agent.relay.account


def test_a_cap_ends_the_run_after_the_agent(tmp_path: Path) -> None:
    with relay_of(tmp_path, budget=Budget(max_tokens=700)) as (agent, server):
        got = agent.post(ask("x" * 3_000))
        assert not server.received
    assert (got.status, "700" in got.words) == (400, False)
    assert isinstance(agent.relay.failure, BudgetReached)


def test_a_cap_lowers_the_limit_of_a_turn_before_it_ends_the_run(tmp_path: Path) -> None:
    terms, budget = replace(TERMS, max_output_tokens=9_000), Budget(max_tokens=2_000)
    with relay_of(tmp_path, Send(chat_document()), terms=terms, budget=budget) as (agent, server):
        assert agent.post(ask()).status == 200
        assert 1_000 < server.bodies[0]["max_tokens"] < 2_000


def test_an_agent_sees_no_retry(tmp_path: Path) -> None:
    script = (error_answer(429), Reset(), error_answer(503), Send(chat_document()))
    with relay_of(tmp_path, *script) as (agent, server):
        assert agent.post(ask()).status == 200
        assert len(server.received) == 4
    assert agent.relay.calls == 1


def test_a_refused_key_ends_the_run(tmp_path: Path) -> None:
    with relay_of(tmp_path, error_answer(401, "bad key")) as (agent, _):
        assert agent.post(ask()).status == 400
        assert agent.post(ask()).status == 400
    assert isinstance(agent.relay.failure, ModelUnavailable)
    assert agent.relay.calls == 1


def test_what_the_server_refuses_of_a_call_is_the_agents_affair(tmp_path: Path) -> None:
    with relay_of(tmp_path, error_answer(400, "no such role")) as (agent, _):
        got = agent.post(ask())
    assert (got.status, agent.relay.failure) == (400, None)
    assert "no such role" in got.words
    with relayed(None, tmp_path) as agent:
        assert agent.post(ask()) == got


def test_a_parameter_that_the_model_refuses_is_left_out(tmp_path: Path) -> None:
    script = (error_answer(400, "unknown", param="temperature"), Send(chat_document()))
    with relay_of(tmp_path, *script) as (agent, server):
        assert agent.post(ask(temperature=1)).status == 200
        assert [each.get("temperature") for each in server.bodies] == [1, None]


def test_reasoning_that_the_model_refuses_is_left_out(tmp_path: Path) -> None:
    script = (
        error_answer(400, "not supported", param="reasoning.summary"),
        error_answer(400, "not supported", param="reasoning.effort"),
        Send(response_document(text="done")),
    )
    body = {"input": "go", "reasoning": {"effort": "high", "summary": "auto"}}
    with relay_of(tmp_path, *script) as (agent, server):
        assert agent.post(body, RESPONSES).status == 200
        sent = [each.get("reasoning") for each in server.bodies]
    assert sent == [body["reasoning"], {"effort": "high"}, None]


def test_a_stream_that_breaks_before_anything_was_said_is_asked_for_again(tmp_path: Path) -> None:
    whole = chat_stream("done")
    with relay_of(tmp_path, Stream([], "reset"), whole) as (agent, server):
        assert agent.post(ask(stream=True)).body == events_of(whole.events)
        assert len(server.received) == 2


def test_a_stream_that_breaks_later_is_cut_and_replayed_as_cut(tmp_path: Path) -> None:
    broken = Stream(chat_stream("a", "b", "c").events[:3], "clean")
    with relay_of(tmp_path, broken, Send(chat_document())) as (agent, server):
        cut = agent.post(ask(stream=True))
        assert len(server.received) == 1
        assert agent.post(ask(stream=True)).status == 200
    assert not cut.is_whole
    assert cut.body == events_of(broken.events[:2])
    with relayed(None, tmp_path) as agent:
        assert agent.post(ask(stream=True)) == cut


@pytest.mark.rest
def test_a_silent_server_ends_the_call(tmp_path: Path) -> None:
    with relay_of(tmp_path, *[Silence()] * 3, stall_seconds=0.2) as (agent, _):
        got = agent.post(ask())
    assert (got.status, "silent" in got.words) == (400, True)


def test_a_server_that_lacks_the_wire_is_named(tmp_path: Path) -> None:
    with relay_of(tmp_path, error_answer(404, "not found")) as (agent, _):
        assert agent.post({"messages": []}, MESSAGES).status == 400
    assert "does not speak Anthropic Messages" in str(agent.relay.failure)


def test_an_agent_that_hangs_up_and_asks_again_gets_what_was_paid_for(tmp_path: Path) -> None:
    with relay_of(tmp_path, Send(chat_document("one")), Send(chat_document("two"))) as (
        agent,
        server,
    ):
        body = json.dumps(ask()).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        from tests.shared.llm.relay_edge import connected

        with connected(agent.path) as hasty:
            hasty.sendall(head.encode() + body)
        while not server.received or agent.relay._under_way:
            threading.Event().wait(0.01)
        assert json.loads(agent.post(ask()).body) == chat_document("one")
        assert len(server.received) == 1
        assert json.loads(agent.post(ask()).body) == chat_document("two")


def test_an_agent_that_asks_again_while_its_call_is_under_way_pays_once(tmp_path: Path) -> None:
    asked, again = threading.Event(), threading.Event()

    class Slow(Send):
        """An answer that waits until the agent has asked again."""

        def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
            asked.set()
            assert again.wait(10)
            super().play(handler, stop)

    with relay_of(tmp_path, Slow(chat_document("one"))) as (agent, server):
        with connected(agent.path) as hasty:
            hasty.sendall(call_bytes(ask()))
            assert asked.wait(10)
        with connected(agent.path) as patient:
            patient.sendall(call_bytes(ask()))
            while agent.relay.calls < 2:
                threading.Event().wait(0.01)
            again.set()
            got = b"".join(iter(lambda: patient.recv(1 << 16), b""))
        assert json.loads(got.partition(b"\r\n\r\n")[2]) == chat_document("one")
        assert len(server.received) == 1


def test_a_stream_that_nobody_waits_for_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_ENDING_SECONDS", 0.05)
    written = threading.Event()

    @dataclass(frozen=True)
    class Endless:
        """A stream that goes on until its reader leaves."""

        def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
            event = json.dumps(chat_chunk(content="more")).encode()
            handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            handler.close_connection = True
            with contextlib.suppress(OSError):
                while not stop.wait(0.005):
                    handler.wfile.write(b"data: %s\n\n" % event)
            written.set()

    with scripted_server(Endless()) as server:
        with relayed(server, tmp_path) as agent, connected(agent.path) as asking:
            asking.sendall(call_bytes(ask(stream=True)))
            assert asking.recv(1 << 16)
        assert written.wait(5)


def test_calls_side_by_side_are_all_answered(tmp_path: Path) -> None:
    with relay_of(tmp_path, *[Send(chat_document())] * 40) as (agent, _):
        got: list[int] = []
        threads = [
            threading.Thread(
                target=lambda n: got.append(agent.post(ask(n)).status), args=(str(n % 4),)
            )
            for n in range(40)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert got == [200] * 40
    assert agent.relay.calls == 40


def test_the_models_are_the_one_model(tmp_path: Path) -> None:
    with relay_of(tmp_path) as (agent, server):
        got = agent.raw(b"GET /v1/models HTTP/1.1\r\n\r\n")
        assert not server.received
    assert json.loads(got.partition(b"\r\n\r\n")[2])["data"][0]["id"] == "small-1"


def test_the_socket_is_its_users_alone_and_goes(tmp_path: Path) -> None:
    with relay_of(tmp_path) as (agent, _):
        assert agent.path.stat().st_mode & 0o777 == 0o600
    assert not agent.path.exists()


def test_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    with relay_of(folder, Send(chat_document())) as (agent, _):
        near = Path(f"/proc/self/fd/{os.open(folder, os.O_RDONLY)}") / "r.sock"
        assert Agent(near, agent.relay).post(ask()).status == 200
