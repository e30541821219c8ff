"""A server that refuses `stream` is asked again without it, and answers all the same."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest

from shared.errors import BudgetReached, ModelUnavailable
from shared.events.events import Event, Noted, ignore
from shared.llm.budget import Budget, ModelTables
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import Request, Usage
from shared.llm.stack import Mode, ModelSource, open_model
from shared.llm.usage import Price
from tests.shared.llm.edge import (
    SCHEMA,
    chat_document,
    chat_request,
    chat_stream,
    edge,
    error_answer,
    known_properties,
    planner_request,
    problems,
    response_document,
)
from tests.shared.llm.scripted_server import Act, Partial, Reset, Send, scripted_server

Way = Literal["chat", "responses"]
WAYS: tuple[Way, ...] = ("chat", "responses")
UNVERIFIED = error_answer(
    400, "Your organization must be verified to stream this model.", "unsupported_value", "stream"
)
SCHEMAS = {"chat": "CreateChatCompletionRequest", "responses": "CreateResponse"}
FULL: dict[str, Any] = {
    "reply_schema": SCHEMA,
    "max_output_tokens": 100,
    "temperature": 0.0,
    "reasoning_effort": "low",
}
WORDS = "streaming was refused: replies are no longer shown as they come"


def request(way: Way, prompt: str = "Say hello.", **changes: Any) -> Request:
    make = chat_request if way == "chat" else planner_request
    return make(prompt, **changes)


def reply(way: Way, text: str = "hello") -> list[Act]:
    """Return what a server sends that does not stream: the Responses API answers when polled."""
    if way == "chat":
        return [Send(chat_document(text))]
    states = [response_document("queued"), response_document("in_progress")]
    return [*map(Send, states), Send(response_document(text=text))]


@pytest.mark.parametrize(
    "refusal",
    [
        UNVERIFIED,
        error_answer(400, "Streaming is not supported for this model."),
        Send({"detail": "`stream` must be false"}, status=422),
    ],
    ids=["unverified", "in words", "validation"],
)
@pytest.mark.parametrize("way", WAYS)
def test_a_refused_stream_is_dropped_once_and_remembered(way: Way, refusal: Send) -> None:
    with edge(refusal, *reply(way, "one"), *reply(way, "two")) as it:
        first = it.client.complete(request(way, "first", **FULL))
        second = it.client.complete(request(way, "second", **FULL))
        bodies = [body for body in it.server.bodies if body]
        assert (first.text, second.text) == ("one", "two")
        assert first.adjustments == second.adjustments == (WORDS,)
        assert first.usage == second.usage
        assert first.usage.calls == 1
        assert first.usage.output_tokens > 0
        assert [body.get("stream", False) for body in bodies] == [True, False, False]
        assert all(problems(SCHEMAS[way], body) == [] for body in bodies)
        assert all(body.keys() <= known_properties(SCHEMAS[way]) for body in bodies)
        assert "stream_options" not in bodies[1]
        assert it.events.count(Noted(f"{request(way).model}: {WORDS}")) == 1
        assert it.server.left == 0


def test_an_unstreamed_response_is_made_in_the_background_and_polled_for() -> None:
    with edge(UNVERIFIED, *reply("responses", "the plan")) as it:
        completion = it.client.complete(planner_request())
        asked = [(each.method, each.path) for each in it.server.received]
        assert (completion.text, completion.reasoning) == ("the plan", "Thinking it over.")
        assert completion.usage == Usage(1, 20, 8, 9, 3, None)
        assert it.server.bodies[1]["background"] and it.server.bodies[1]["store"]
        assert asked == [("POST", "/v1/responses")] * 2 + [("GET", "/v1/responses/resp_1")] * 2


def test_an_unstreamed_response_that_the_server_loses_is_asked_for_again() -> None:
    lost = [Send(response_document("queued")), error_answer(404, "gone")]
    with edge(UNVERIFIED, *lost, *reply("responses", "the plan")) as it:
        completion = it.ask(planner_request())
        assert (completion.text, completion.usage.calls) == ("the plan", 2)
        words = "the reply is made in the background; the server does not have the reply any more"
        assert completion.adjustments == (WORDS, f"{words}; asked again")


def test_without_streams_and_background_the_response_comes_as_one_document() -> None:
    no_background = error_answer(400, "not allowed", "unsupported_parameter", "background")
    done = Send(response_document(text="the plan"))
    with edge(UNVERIFIED, no_background, done) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        assert not {"stream", "background", "store"} & it.server.bodies[2].keys()


def test_without_a_responses_api_chat_is_not_streamed_either() -> None:
    missing = Send("404 page not found", status=404, media_type="text/plain")
    with edge(missing, UNVERIFIED, *reply("chat", "the plan")) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        assert "stream" not in it.server.bodies[2]


@pytest.mark.parametrize("way", WAYS)
def test_what_may_pass_is_waited_out_without_streams_too(way: Way) -> None:
    trouble: list[Act] = [error_answer(429, "slow down", retry_after="7"), Reset()]
    with edge(UNVERIFIED, *trouble, *reply(way)) as it:
        assert it.client.complete(request(way)).text == "hello"
        assert it.waits == [7.0, 2.0]


def test_a_chat_reply_that_breaks_off_is_asked_for_again_unstreamed() -> None:
    broken = Partial(chat_document("hello"), "reset")
    with edge(UNVERIFIED, broken, *reply("chat")) as it:
        completion = it.ask(chat_request())
        assert (completion.text, completion.usage.calls) == ("hello", 2)
        assert "stream" not in it.server.bodies[2]


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_blames_the_stream_for_everything_is_not_asked_for_ever(way: Way) -> None:
    with edge(*[UNVERIFIED] * 3) as it:
        with pytest.raises(ModelUnavailable, match="must be verified to stream"):
            it.client.complete(request(way))
        assert it.requests == 2


def test_a_refusal_of_another_parameter_that_speaks_of_streams_leaves_the_stream() -> None:
    refusal = error_answer(400, "not with streaming", "unsupported_value", "background")
    with edge(refusal, error_answer(400, "stop")) as it:
        with pytest.raises(ModelUnavailable):
            it.client.complete(planner_request())
        assert it.server.bodies[1]["stream"] is True
        assert "background" not in it.server.bodies[1]


def test_where_nothing_is_streamed_the_stream_is_not_to_blame() -> None:
    with edge(UNVERIFIED, chat_stream("never"), stream=False) as it:
        with pytest.raises(ModelUnavailable):
            it.client.complete(chat_request())
        assert it.requests == 1


def test_an_interrupt_cancels_an_unstreamed_response() -> None:
    queued = Send(response_document("queued"))
    with scripted_server(UNVERIFIED, queued, queued, Send({})) as server:
        clock = _InterruptedClock()
        client = LiveClient(ModelAccess(server.base_url, "k"), clock=clock)
        with client, pytest.raises(KeyboardInterrupt):
            client.complete(planner_request())
        assert server.received[-1].path == "/v1/responses/resp_1/cancel"


class _InterruptedClock:
    """A clock on which the user presses Ctrl-C as soon as anybody waits."""

    def now(self) -> float:
        return 0.0

    def wall(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("way", WAYS)
def test_transcript_prices_and_caps_hold_for_unstreamed_replies(way: Way, tmp_path: Path) -> None:
    asked = request(way, max_output_tokens=100)
    usage = Usage(1, 10, 4, 5, 2) if way == "chat" else Usage(1, 20, 8, 9, 3)
    table = {asked.model: Price(Decimal(1_000_000), Decimal(1_000_000), Decimal(1_000_000))}
    cap = Budget(max_cost_usd=Decimal(250))
    with scripted_server(UNVERIFIED, *reply(way)) as server:
        access = ModelAccess(server.base_url, "k")
        source = ModelSource(
            Mode.LIVE,
            lambda emit: LiveClient(access, emit),
            budget=cap,
            tables=ModelTables(table, {}),
        )
        seen: list[Event] = []
        with open_model(source, tmp_path, seen.append) as model:
            first = model.client.complete(asked)
            spent = usage.input_tokens + usage.output_tokens
            assert first.usage.cost_usd == model.meter.run.live.cost_usd == Decimal(spent)
            with pytest.raises(BudgetReached):
                model.client.complete(request(way, "again " * 200, max_output_tokens=100))
        with open_model(source, tmp_path, ignore) as model:
            again = model.client.complete(asked)
        assert (again.text, again.replayed, again.adjustments) == ("hello", True, (WORDS,))
        assert server.left == 0
