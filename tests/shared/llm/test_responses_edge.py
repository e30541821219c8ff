"""The Responses API over real HTTP: streaming, resuming, polling, falling back."""

from __future__ import annotations

from typing import Any

import pytest

from shared.errors import ModelUnavailable
from shared.events.events import Event, ModelRetryScheduled, Noted
from shared.llm.call_retry import OwnPace
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import ReplyBroken, ReplyCutShort, ReplyFailed, Usage
from tests.shared.llm.edge import (
    POLICY,
    SCHEMA,
    chat_stream,
    created_event,
    edge,
    error_answer,
    final_event,
    known_properties,
    planner_request,
    problems,
    reasoning_event,
    response_document,
    response_event,
    response_stream,
    text_event,
)
from tests.shared.llm.scripted_server import Act, Reset, Send, Silence, Stream

FULL: dict[str, Any] = {
    "reply_schema": SCHEMA,
    "max_output_tokens": 100,
    "temperature": 0.0,
    "reasoning_effort": "high",
}
BROKEN = Stream([created_event(), text_event(1, "the ")], end="reset")
DONE = response_document(text="the plan")


def test_text_and_reasoning_are_shown_as_they_come() -> None:
    stream = Stream(
        [
            created_event(),
            reasoning_event(1, "Thinking"),
            text_event(2, "the plan"),
            final_event(3, DONE),
        ]
    )
    with edge(stream) as it:
        completion = it.client.complete(planner_request())
        assert (completion.text, completion.reasoning) == ("the plan", "Thinking it over.")
        assert completion.usage == Usage(1, 20, 8, 9, 3, None)
        assert completion.model == "large-1-0001"
        assert (it.seen("text"), it.seen("reasoning")) == ("the plan", "Thinking")


@pytest.mark.parametrize("settings", [{}, FULL])
def test_every_request_fits_the_published_schema(settings: dict[str, Any]) -> None:
    with edge(response_stream()) as it:
        it.client.complete(planner_request(**settings))
        (body,) = it.server.bodies
        assert problems("CreateResponse", body) == []
        assert body.keys() <= known_properties("CreateResponse")
        assert body["background"] and body["stream"]


def test_a_broken_stream_is_resumed_where_it_broke() -> None:
    rest = Stream([text_event(2, "plan"), final_event(3, DONE)])
    with edge(BROKEN, rest) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        methods = [(each.method, each.path) for each in it.server.received]
        assert methods == [
            ("POST", "/v1/responses"),
            ("GET", "/v1/responses/resp_1?starting_after=1&stream=true"),
        ]
        assert it.seen("text") == "the plan"


def test_a_stream_is_resumed_again_as_long_as_it_gets_on() -> None:
    more = Stream([text_event(2, "pl")], end="reset")
    rest = Stream([text_event(3, "an"), final_event(4, DONE)])
    with edge(BROKEN, more, rest) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        assert it.server.received[-1].path.partition("?")[2].startswith("starting_after=2&")


@pytest.mark.parametrize(
    "no_resume",
    [
        error_answer(400, "starting_after is not supported"),
        error_answer(500, "no such stream"),
        Stream([]),
        Reset(),
        Send("<html></html>", media_type="text/html"),
    ],
    ids=["refused", "in trouble", "empty", "reset", "page"],
)
@pytest.mark.parametrize("pending", [[], ["queued"], ["queued", "in_progress", "in_progress"]])
def test_what_cannot_be_resumed_is_polled_for(no_resume: Act, pending: list[str]) -> None:
    waits: list[Act] = [Send(response_document(status)) for status in pending]
    with edge(BROKEN, no_resume, *waits, Send(DONE)) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        posts = [each for each in it.server.received if each.method == "POST"]
        assert len(posts) == 1
        assert it.server.left == 0


def test_polling_slows_down_and_bears_with_a_server_in_trouble() -> None:
    queued = Send(response_document("queued"))
    trouble: list[Act] = [
        error_answer(503, "later"),
        Reset(),
        Send("", media_type="application/json"),
    ]
    with edge(BROKEN, error_answer(400), queued, queued, *trouble, queued, Send(DONE)) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        # The resumption, then polling at growing intervals, with retries 1, 2, 4 in between.
        assert it.clock.sleeps == [1.0, 1.0, 1.5, 1.0, 2.0, 4.0, 2.25]


@pytest.mark.parametrize(
    ("final", "kind", "words"),
    [
        (
            response_document(
                "incomplete", "par", incomplete_details={"reason": "max_output_tokens"}
            ),
            ReplyCutShort,
            "limit",
        ),
        (
            response_document("incomplete", "par", incomplete_details={"reason": "content_filter"}),
            ReplyFailed,
            "content filter",
        ),
        (
            response_document("failed", error={"code": "server_error", "message": "it broke"}),
            ReplyBroken,
            "failed to make the reply: it broke",
        ),
        (
            response_document("failed", error={"code": "invalid_prompt", "message": "flagged"}),
            ReplyFailed,
            "failed to make the reply: flagged",
        ),
        (response_document("incomplete", "par"), ReplyFailed, "for no stated reason"),
        (response_document("cancelled"), ReplyFailed, "cancelled on the server"),
        (response_document(refusal="I won't."), ReplyFailed, "the model refused: I won't."),
        (response_document(), ReplyFailed, "empty"),
    ],
    ids=["length", "filter", "server", "prompt", "no reason", "cancelled", "refusal", "empty"],
)
@pytest.mark.parametrize("way", ["streamed", "whole", "polled"])
def test_each_terminal_state_says_what_it_is_and_what_it_took(
    way: str, final: dict[str, Any], kind: type[ReplyFailed], words: str
) -> None:
    script: dict[str, list[Act]] = {
        "streamed": [_streamed(final)],
        "whole": [Send(final)],
        "polled": [BROKEN, error_answer(400), Send(response_document("queued")), Send(final)],
    }
    with edge(*script[way]) as it:
        with pytest.raises(ReplyFailed, match=words) as caught:
            it.client.complete(planner_request())
        assert type(caught.value) is kind
        assert caught.value.usage.output_tokens == 9
        assert it.server.left == 0


def _streamed(final: dict[str, Any]) -> Stream:
    # A cancelled response has no event of its own: its document comes in another one.
    if final["status"] == "cancelled":
        return Stream([created_event(), response_event("response.failed", 1, response=final)])
    return Stream([created_event(), final_event(1, final)])


def test_a_failure_for_want_of_money_ends_the_run() -> None:
    final = response_document("failed", error={"code": "server_error", "message": "no money"})
    final["error"]["code"] = "insufficient_quota"
    with edge(Send(final)) as it, pytest.raises(ModelUnavailable, match="no quota left"):
        it.client.complete(planner_request())


def failed_for(code: str, message: str, text: str | None = None) -> dict[str, Any]:
    """Return a response that failed, with a code that OpenAI sends and does not list."""
    final = response_document("failed", text, error={"code": "server_error", "message": message})
    return final | {"error": {"code": code, "message": message}, "usage": text and final["usage"]}


def failing(final: dict[str, Any]) -> Stream:
    return Stream([created_event(), {"type": "response.failed", "response": final}])


WAIT = "Rate limit reached for large-1. Please try again in 11.054s."


@pytest.mark.parametrize("way", ["streamed", "polled"])
@pytest.mark.parametrize(
    ("code", "wait"),
    [("server_is_overloaded", 1.0), ("slow_down", 1.0), ("rate_limit_exceeded", 11.054)],
)
def test_a_failure_that_passes_is_waited_out(code: str, wait: float, way: str) -> None:
    final = failed_for(code, WAIT if code.startswith("rate") else "overloaded")
    polled: list[Act] = [BROKEN, error_answer(400), Send(final)]
    with edge(*([failing(final)] if way == "streamed" else polled), response_stream()) as it:
        assert it.ask(planner_request()).text == "the plan"
        assert it.waits[-1] == pytest.approx(wait)
        assert it.server.left == 0


def test_a_failure_for_too_many_requests_holds_other_calls_back() -> None:
    with edge(failing(failed_for("rate_limit_exceeded", WAIT))) as it:
        access = ModelAccess(it.server.base_url, "k", deadline_seconds=5)
        pace = OwnPace(it.clock.now)
        with (
            LiveClient(access, policy=POLICY, clock=it.clock, pace=pace) as client,
            pytest.raises(ModelUnavailable, match="would take too long"),
        ):
            client.complete(planner_request())
        assert pace.seconds_left("large-1") == pytest.approx(11.054)


def test_a_failure_for_too_many_requests_counts_as_a_call_where_something_was_written() -> None:
    failures = [failing(failed_for("rate_limit_exceeded", WAIT, text)) for text in (None, "the ")]
    with edge(*failures, response_stream()) as it:
        assert it.ask(planner_request()).usage.calls == 2
        assert it.waits == pytest.approx([11.054, 1.0])


def test_a_failure_for_a_prompt_that_is_too_long_is_not_asked_for_again() -> None:
    final = failed_for("context_length_exceeded", "Your input exceeds the context window.")
    with edge(failing(final)) as it:
        with pytest.raises(ModelUnavailable, match="does not fit the context of large-1"):
            it.ask(planner_request())
        assert (it.requests, it.waits) == (1, [])


def test_a_server_that_ignores_background_and_streaming_is_read_all_the_same() -> None:
    with edge(Send(DONE)) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        assert it.requests == 1


@pytest.mark.parametrize(
    "lost",
    [
        [error_answer(404, "gone")],
        [error_answer(400, "no streaming here"), error_answer(404, "gone")],
        [error_answer(400), Send(response_document("queued")), error_answer(404, "gone")],
    ],
    ids=["at once", "when polled", "after a while"],
)
def test_a_reply_that_the_server_lost_is_asked_for_again(lost: list[Act]) -> None:
    with edge(BROKEN, *lost, response_stream()) as it:
        completion = it.ask(planner_request())
        assert completion.text == "the plan"
        assert completion.usage.calls == 2
        assert any("asked again" in words for words in completion.adjustments)
        assert it.server.left == 0


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_missing_responses_api_means_chat_and_is_said_once(status: int) -> None:
    missing = Send("page not found", status=status, media_type="text/plain")
    with edge(missing, chat_stream("a"), chat_stream("b")) as it:
        first = it.client.complete(planner_request())
        second = it.client.complete(planner_request())
        words = "the server has no Responses API; Chat Completions is used"
        assert (first.text, second.text) == ("a", "b")
        assert first.adjustments == second.adjustments == (words,)
        assert [each.path for each in it.server.received] == [
            "/v1/responses",
            "/v1/chat/completions",
            "/v1/chat/completions",
        ]
        assert it.events.count(Noted(f"large-1: {words}")) == 1


def test_a_missing_model_is_not_mistaken_for_a_missing_api() -> None:
    missing = error_answer(404, "The model `large-1` does not exist", "model_not_found")
    with edge(missing) as it, pytest.raises(ModelUnavailable, match="does not know large-1"):
        it.client.complete(planner_request())


@pytest.mark.parametrize(
    ("param", "text", "gone"),
    [
        ("background", "Background mode is not allowed", "background"),
        ("reasoning.summary", "Your organization must be verified", "reasoning.summary"),
        ("reasoning.effort", "Unsupported parameter", "reasoning"),
        ("temperature", "Unsupported parameter", "temperature"),
        ("max_output_tokens", "Unsupported parameter", "max_output_tokens"),
    ],
)
def test_refused_parameters_are_dropped_one_by_one(param: str, text: str, gone: str) -> None:
    refusal = error_answer(400, text, "unsupported_parameter", param)
    with edge(refusal, response_stream()) as it:
        completion = it.client.complete(planner_request(**FULL))
        before, after = it.server.bodies
        outer, _, inner = gone.partition(".")
        holder = after[outer] if inner else after
        assert outer in before
        assert (inner or outer) not in holder
        assert len(completion.adjustments) == 1


def test_without_background_a_broken_stream_is_asked_for_again() -> None:
    refusal = error_answer(400, "not allowed", "unsupported_parameter", "background")
    with edge(refusal, BROKEN, response_stream()) as it:
        assert it.ask(planner_request()).text == "the plan"
        assert [each.method for each in it.server.received] == ["POST"] * 3


def test_structured_output_goes_down_the_ladder() -> None:
    refusals = [error_answer(400, "no such type", param="text.format")] * 2
    with edge(*refusals, response_stream("{}")) as it:
        it.client.complete(planner_request(reply_schema=SCHEMA))
        formats = [body.get("text", {}).get("format", {}).get("type") for body in it.server.bodies]
        assert formats == ["json_schema", "json_object", None]
        assert '"answer"' in it.server.bodies[2]["input"]


def test_an_error_event_before_anything_came_is_waited_out() -> None:
    error = response_event("error", 0, code="server_error", message="overloaded", param=None)
    with edge(Stream([error]), response_stream()) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        assert it.waits == [1.0]


def test_an_error_event_in_the_middle_leads_to_the_reply_all_the_same() -> None:
    error = response_event("error", 2, code="server_error", message="overloaded", param=None)
    broken = Stream([created_event(), text_event(1, "the "), error])
    with edge(broken, error_answer(400), Send(DONE)) as it:
        assert it.client.complete(planner_request()).text == "the plan"


def error_event(way: str, code: str | None, kind: str) -> dict[str, Any]:
    """Return an error as OpenAI documents it, or as it sends it."""
    error = {"code": code, "message": "so it is", "param": None}
    if way == "flat":
        return response_event("error", 2, **error)
    return {"type": "error", "sequence_number": 2, "error": {"type": kind, **error}}


@pytest.mark.parametrize(
    ("way", "code", "kind", "words"),
    [
        ("nested", "insufficient_quota", "insufficient_quota", "no quota left"),
        ("nested", None, "insufficient_quota", "no quota left"),
        ("nested", "credit_balance_exhausted", "insufficient_quota", "no quota left"),
        ("nested", "context_length_exceeded", "invalid_request_error", "does not fit the context"),
        ("nested", "invalid_api_key", "invalid_request_error", "refused the key"),
        ("nested", "model_not_found", "invalid_request_error", "does not know large-1"),
        ("nested", "odd", "invalid_request_error", "refused the request: HTTP 400:"),
        ("flat", "context_length_exceeded", "", "does not fit the context"),
        ("flat", "invalid_api_key", "", "refused the key"),
    ],
)
@pytest.mark.parametrize("begun", [True, False])
def test_an_error_event_that_no_wait_mends_ends_the_run_at_once(
    begun: bool, way: str, code: str | None, kind: str, words: str
) -> None:
    first = [created_event()] if begun else []
    with edge(Stream([*first, error_event(way, code, kind)])) as it:
        with pytest.raises(ModelUnavailable, match=rf"{words}.*so it is"):
            it.ask(planner_request())
        assert (it.requests, it.waits) == (1, [])


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        ("rate_limit_exceeded", "tokens", 429),
        ("too_many_requests", "too_many_requests", 429),
        ("server_is_overloaded", "service_unavailable_error", 503),
        (None, "server_error", 500),
    ],
)
def test_an_error_event_that_passes_is_waited_out_and_quoted(
    code: str | None, kind: str, status: int
) -> None:
    with edge(Stream([error_event("nested", code, kind)]), response_stream()) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        (wait,) = [each for each in it.events if isinstance(each, ModelRetryScheduled)]
        assert wait.reason == f"HTTP {status}: so it is"


def test_a_reply_that_never_ends_is_cancelled_at_the_deadline() -> None:
    queued = Send(response_document("queued"))
    with edge(BROKEN, error_answer(400), *[queued] * 50, deadline_seconds=300) as it:
        with pytest.raises(ReplyFailed, match="by the deadline and was cancelled"):
            it.client.complete(planner_request())
        assert sum(it.clock.sleeps) == pytest.approx(300, abs=21)
        assert it.server.received[-1].path == "/v1/responses/resp_1/cancel"


def test_an_interrupt_cancels_what_runs_in_the_background() -> None:
    with edge(Stream([created_event(), text_event(1, "the ")]), Send(DONE)) as it:

        def interrupt(event: Event) -> None:
            raise KeyboardInterrupt

        access = ModelAccess(it.server.base_url, "k")
        with LiveClient(access, interrupt) as client, pytest.raises(KeyboardInterrupt):
            client.complete(planner_request())
        assert [each.path for each in it.server.received] == [
            "/v1/responses",
            "/v1/responses/resp_1/cancel",
        ]


@pytest.mark.rest
def test_a_silent_server_is_left_and_polled() -> None:
    silent = Stream([created_event(), text_event(1, "the ")], end="silence")
    with edge(silent, Silence(), Send(DONE), stall_seconds=0.5) as it:
        assert it.client.complete(planner_request()).text == "the plan"
        assert it.server.left == 0


def test_hostile_events_end_in_words_never_in_a_traceback() -> None:
    hostile: list[Any] = [
        {"type": "response.completed", "response": 5},
        {
            "type": "response.completed",
            "response": {"status": "completed", "output": [3, {"type": "message"}]},
        },
        {"response": {"status": "completed", "output": {"a": 1}, "usage": [1]}},
        {"status": "weird"},
        {"error": {"code": {}, "message": []}},
        {"type": "error"},
        [],
        7,
    ]
    for event in hostile:
        script: list[Act] = [Stream([event]), Stream([event]), *[error_answer(400)] * 9]
        with edge(*script) as it, pytest.raises((ReplyFailed, ModelUnavailable)):
            it.client.complete(planner_request())
