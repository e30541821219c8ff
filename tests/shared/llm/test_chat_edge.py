"""Chat Completions over real HTTP: what is sent, what is read, what is made of trouble."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.errors import ModelUnavailable
from shared.events.events import Noted, Warned
from shared.llm.budget import estimate_input
from shared.llm.model_client import ReplyBroken, ReplyCutShort, ReplyFailed, Usage
from tests.shared.llm.edge import (
    SCHEMA,
    chat_chunk,
    chat_document,
    chat_request,
    chat_stream,
    edge,
    error_answer,
    known_properties,
    problems,
    usage_chunk,
)
from tests.shared.llm.scripted_server import Send, Stream, refused_port

FULL: dict[str, Any] = {
    "reply_schema": SCHEMA,
    "max_output_tokens": 100,
    "temperature": 0.0,
    "reasoning_effort": "low",
}


def test_a_streamed_reply_is_shown_as_it_comes_and_returned_whole() -> None:
    with edge(chat_stream("hel", "lo")) as it:
        completion = it.client.complete(chat_request())
        assert completion.text == "hello"
        assert completion.model == "small-1-0001"
        assert completion.usage == Usage(1, 10, 4, 5, 2, None)
        assert it.seen("text") == "hello"


def test_a_reply_that_nobody_watches_is_not_streamed() -> None:
    with edge(Send(chat_document("hi")), stream=False) as it:
        assert it.client.complete(chat_request()).text == "hi"
        assert "stream" not in it.server.bodies[0]


def test_a_server_that_ignores_streaming_is_read_all_the_same() -> None:
    with edge(Send(chat_document("hi"))) as it:
        assert it.client.complete(chat_request()).text == "hi"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_of_open_models_is_shown_and_kept_apart(name: str) -> None:
    chunk = chat_chunk(content=None)
    chunk["choices"][0]["delta"][name] = "hm"
    with edge(Stream([chunk, chat_chunk("stop", content="yes"), "[DONE]"])) as it:
        completion = it.client.complete(chat_request())
        assert (completion.text, completion.reasoning) == ("yes", "hm")
        assert it.seen("reasoning") == "hm"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("settings", [{}, FULL])
def test_every_request_fits_the_published_schema(stream: bool, settings: dict[str, Any]) -> None:
    answer = chat_stream("x") if stream else Send(chat_document())
    with edge(answer, stream=stream) as it:
        it.client.complete(chat_request(**settings))
        (body,) = it.server.bodies
        assert problems("CreateChatCompletionRequest", body) == []
        assert body.keys() <= known_properties("CreateChatCompletionRequest")
        assert it.server.received[0].headers["authorization"] == "Bearer sk-test"


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{refused_port()}")
    with edge(chat_stream("direct")) as it:
        assert it.client.complete(chat_request()).text == "direct"


def test_threads_share_one_client() -> None:
    with edge(*[chat_stream("hi")] * 8) as it, ThreadPoolExecutor(4) as pool:
        texts = pool.map(lambda n: it.client.complete(chat_request(str(n))).text, range(8))
        assert list(texts) == ["hi"] * 8


def test_a_character_cut_in_two_is_joined_and_half_a_character_replaced() -> None:
    with edge(chat_stream("smile \ud83d", "\ude00 \ud83d!")) as it:
        completion = it.client.complete(chat_request("half \ud83d"))
        assert completion.text == "smile \U0001f600 \ufffd!"
        assert it.seen("text") == "smile \ufffd\ufffd \ufffd!"
        assert it.server.bodies[0]["messages"][0]["content"] == "half \ufffd"


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (
            {
                "prompt_tokens": 10_006,
                "prompt_tokens_details": {"cached_tokens": 9_000},
                "cache_creation_input_tokens": 1_000,
                "cache_read_input_tokens": 9_000,
                "completion_tokens": 5,
            },
            Usage(1, 10_006, 9_000, 5, 0, None, 0, 1_000),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "input_tokens": 10,
                "output_tokens": 5,
            },
            Usage(1, 10, 0, 5, 0, None),
        ),
    ],
    ids=["LiteLLM", "both names"],
)
def test_what_a_gateway_reports_twice_is_counted_once(
    reported: dict[str, object], usage: Usage
) -> None:
    with edge(Send(chat_document() | {"usage": reported})) as it:
        assert it.client.complete(chat_request()).usage == usage


@pytest.mark.parametrize(
    ("counted", "is_warned"), [(4_096, True), (9_000, False), (12_000, False), (30, False)]
)
def test_a_prompt_that_the_server_cut_is_warned_of_once(counted: int, is_warned: bool) -> None:
    usage = {"prompt_tokens": counted, "completion_tokens": 1, "total_tokens": counted + 1}
    reply = Send(chat_document() | {"usage": usage})
    with edge(reply, reply) as it:
        for _ in range(2):
            it.client.complete(chat_request("a line of words\n" * 3_000))
        warned = [each.message for each in it.events if isinstance(each, Warned)]
    assert len(warned) == is_warned
    assert not warned or "4,096 tokens of a prompt that has about 12,000" in warned[0]


def test_missing_usage_is_estimated_and_said() -> None:
    with edge(Stream([chat_chunk("stop", content="x" * 300)])) as it:
        completion = it.client.complete(chat_request("y" * 30))
        assert (completion.usage.input_tokens, completion.usage.output_tokens) == (11, 101)
        assert completion.adjustments == ("the server reports no usage; tokens are estimated",)


@pytest.mark.parametrize(
    ("document", "kind", "words"),
    [
        (chat_document(None, refusal="I won't."), ReplyFailed, "the model refused: I won't."),
        (chat_document("par", "content_filter"), ReplyFailed, "content filter"),
        (chat_document("par", "length"), ReplyCutShort, "limit before it was complete, after 5"),
        (chat_document(None, "tool_calls"), ReplyFailed, "called a tool"),
        (chat_document(""), ReplyFailed, "the model's reply is empty"),
        (chat_document("par", None), ReplyBroken, "just ends"),
        (chat_document() | {"choices": []}, ReplyFailed, "holds no choice"),
    ],
    ids=["refusal", "filter", "length", "tool", "empty", "no finish", "no choices"],
)
def test_a_useless_reply_says_what_it_is_and_what_it_took(
    document: dict[str, object], kind: type[ReplyFailed], words: str
) -> None:
    with edge(Send(document), stream=False) as it:
        with pytest.raises(ReplyFailed, match=words) as caught:
            it.client.complete(chat_request())
        assert type(caught.value) is kind
        assert caught.value.usage.output_tokens == 5
        assert it.requests == 1


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (
            [chat_chunk(refusal="I "), chat_chunk("stop", refusal="won't."), usage_chunk()],
            "refused: I won't.",
        ),
        ([chat_chunk(content="par"), chat_chunk("length"), usage_chunk()], "limit"),
        (
            [chat_chunk(content="par"), chat_chunk("content_filter"), usage_chunk()],
            "content filter",
        ),
        ([usage_chunk()], "no choice"),
    ],
    ids=["refusal", "length", "filter", "no choices"],
)
def test_a_useless_stream_says_what_it_is(events: list[dict[str, object]], words: str) -> None:
    with edge(Stream([*events, "[DONE]"])) as it, pytest.raises(ReplyFailed, match=words):
        it.client.complete(chat_request())


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "abort", "error"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_that_the_server_gave_up_is_asked_for_again(reason: str, stream: bool) -> None:
    given_up = chat_document("par", None)
    given_up["choices"][0]["finish_reason"] = reason
    ends = chat_chunk()
    ends["choices"][0]["finish_reason"] = reason
    fault = Stream([chat_chunk(content="par"), ends, usage_chunk(), "[DONE]"])
    with edge(fault if stream else Send(given_up), Send(chat_document("whole"))) as it:
        completion = it.ask(chat_request())
        assert (completion.text, completion.lost) == ("whole", ("par",))
        words = f"the server broke off the reply ({reason}); asked again"
        assert completion.adjustments == (words,)
        assert completion.usage.calls == 2


def test_a_web_page_is_recognised_and_not_asked_again() -> None:
    page = Send("<!DOCTYPE html><h1>Welcome</h1>", media_type="text/html")
    with edge(page) as it:
        with pytest.raises(ModelUnavailable, match="an HTML page") as caught:
            it.ask(chat_request())
        assert "OPENAI_BASE_URL" in caught.value.hint
        assert it.requests == 1


def test_a_web_page_under_an_error_is_named_by_its_title_and_blames_no_key() -> None:
    head = "<head><title>Access\n denied &amp; logged</title>"
    before = "\ufeff<?xml version='1.0'?>\n<!-- x\n -->\n"
    text = f"{before}<!doctype html>\n{head}" + "<p>x" * 999
    page = Send(text, status=403, media_type="text/html")
    with edge(page) as it, pytest.raises(ModelUnavailable) as caught:
        it.ask(chat_request())
    assert caught.value.message.endswith("HTTP 403: an HTML page, 'Access denied & logged'")
    assert "OPENAI_BASE_URL" in caught.value.hint and "key" not in caught.value.hint


def test_a_refused_parameter_is_dropped_once_and_remembered() -> None:
    refusal = error_answer(400, "Unsupported value", "unsupported_value", "temperature")
    with edge(refusal, chat_stream("a"), chat_stream("b")) as it:
        first = it.client.complete(chat_request(temperature=0.0))
        second = it.client.complete(chat_request(temperature=0.0))
        assert (first.text, second.text) == ("a", "b")
        assert ["temperature" in body for body in it.server.bodies] == [True, False, False]
        assert first.adjustments == ("temperature was refused and is no longer sent",)
        assert second.adjustments == first.adjustments


def test_another_model_is_still_asked_with_the_parameter() -> None:
    refusal = error_answer(400, "no", "unsupported_value", "temperature")
    with edge(refusal, chat_stream("a"), chat_stream("b")) as it:
        it.client.complete(chat_request(temperature=0.0))
        other = chat_request(temperature=0.0)
        object.__setattr__(other, "model", "other-1")
        assert it.client.complete(other).adjustments == ()
        assert "temperature" in it.server.bodies[-1]


def test_the_output_limit_goes_by_the_name_that_the_model_takes() -> None:
    refusal = error_answer(
        400, "Use 'max_completion_tokens' instead.", "unsupported_parameter", "max_tokens"
    )
    with edge(refusal, chat_stream("a")) as it:
        it.client.complete(chat_request(max_output_tokens=50))
        assert it.server.bodies[0]["max_tokens"] == 50
        assert it.server.bodies[1]["max_completion_tokens"] == 50


def test_an_output_limit_beyond_the_model_is_lowered_to_what_it_allows() -> None:
    refusal = error_answer(
        400, "max_tokens is too large: 50000. This model supports at most 16384", None, "max_tokens"
    )
    with edge(refusal, chat_stream("a")) as it:
        completion = it.client.complete(chat_request(max_output_tokens=50_000))
        assert it.server.bodies[1]["max_tokens"] == 16_384
        assert completion.adjustments == ("the output limit was lowered to 16,384",)


WINDOWS = {
    "vLLM": "'max_tokens' or 'max_completion_tokens' is too large: {limit}. This model's maximum "
    "context length is 8192 tokens and your request has 1000 input tokens "
    "({limit} > 8192 - 1000).",
    "vLLM, by its renderer": "This model's maximum context length is 8192 tokens. However, you "
    "requested {limit} output tokens and your prompt contains 1000 input tokens, for a total of "
    "{both} tokens. Please reduce the length of the input prompt or the number of requested "
    "output tokens.",
    "vLLM, of old": "This model's maximum context length is 8192 tokens. However, you requested "
    "{both} tokens (990 in the messages, 10 in the functions, {limit} in the completion). Please "
    "reduce the length of the messages or completion.",
    "vLLM, of old, without tools": "This model's maximum context length is 8192 tokens. However, "
    "you requested {both} tokens (1000 in the messages, {limit} in the completion).",
    "Anthropic": "input length and `max_tokens` exceed context limit: 1000 + {limit} > 8192, "
    "decrease input length or `max_tokens` and try again",
}


@pytest.mark.parametrize("limit", [32_000, 7_500])
@pytest.mark.parametrize("said", WINDOWS)
def test_a_limit_that_does_not_fit_beside_the_prompt_is_lowered_for_that_request(
    said: str, limit: int
) -> None:
    refusal = error_answer(400, WINDOWS[said].format(limit=limit, both=1000 + limit))
    with edge(refusal, chat_stream("a"), chat_stream("b")) as it:
        completion = it.client.complete(chat_request(max_output_tokens=limit))
        words = "the output limit was lowered to 7,192, which the prompt leaves of the window"
        assert completion.adjustments == (words,)
        assert Noted(f"small-1: {words}") in it.events
        assert it.client.complete(chat_request(max_output_tokens=limit)).adjustments == ()
        assert [body["max_tokens"] for body in it.server.bodies] == [limit, 7_192, limit]


def test_a_prompt_that_the_server_did_not_count_is_estimated() -> None:
    refusal = error_answer(
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 8000 output "
        "tokens and your prompt contains at least 193 input tokens, for a total of at least 8193 "
        "tokens. Please reduce the length of the input prompt or the number of output tokens.",
    )
    with edge(refusal, chat_stream("a")) as it:
        request = chat_request("x" * 3_000, max_output_tokens=8_000)
        assert it.client.complete(request).text == "a"
        assert it.server.bodies[1]["max_tokens"] == 8_192 - estimate_input(request)


@pytest.mark.parametrize("said", WINDOWS)
@pytest.mark.parametrize("prompt", [1000, 9000])
def test_a_prompt_that_leaves_no_room_for_a_reply_does_not_fit(prompt: int, said: str) -> None:
    words = WINDOWS[said].replace("1000", f"{prompt}").replace("990", f"{prompt - 10}")
    refusals = [error_answer(400, words.format(limit=n, both=prompt + n)) for n in (9999, 7192)]
    with edge(*refusals) as it:
        with pytest.raises(ModelUnavailable, match="the prompt does not fit the context"):
            it.client.complete(chat_request(max_output_tokens=9999))
        assert it.requests == (2 if prompt == 1000 else 1)


def test_what_is_learned_in_a_small_window_is_remembered_without_the_window() -> None:
    refusals = [
        error_answer(400, WINDOWS["vLLM"].format(limit=8_000)),
        error_answer(400, "no", param="temperature"),
    ]
    with edge(*refusals, chat_stream("a"), chat_stream("b")) as it:
        for _ in range(2):
            it.client.complete(chat_request(max_output_tokens=8_000, temperature=0.0))
        assert [body["max_tokens"] for body in it.server.bodies] == [8_000, 7_192, 7_192, 8_000]
        assert ["temperature" in body for body in it.server.bodies] == [True, True, False, False]


def test_structured_output_goes_down_the_ladder() -> None:
    first = error_answer(400, "'response_format.type' must be json_object")
    second = Send("response_format is not supported", status=422, media_type="text/plain")
    with edge(first, second, chat_stream("{}"), chat_stream("{}")) as it:
        completion = it.client.complete(chat_request(reply_schema=SCHEMA))
        formats = [body.get("response_format", {}).get("type") for body in it.server.bodies]
        assert formats == ["json_schema", "json_object", None]
        assert '"answer"' in it.server.bodies[2]["messages"][0]["content"]
        assert completion.adjustments == (
            "json_schema was refused; json_object is used",
            "json_object was refused; prompt only is used",
        )
        it.client.complete(chat_request(reply_schema=SCHEMA))
        assert "response_format" not in it.server.bodies[3]


def test_a_server_that_refuses_whatever_is_sent_is_not_asked_for_ever() -> None:
    refusal = error_answer(400, "max_tokens and max_completion_tokens are both unknown")
    with edge(*[refusal] * 5) as it:
        with pytest.raises(ModelUnavailable, match="refused the request"):
            it.client.complete(chat_request(max_output_tokens=5))
        assert it.requests == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (error_answer(401, "bad key"), r"refused the key \(bad key\)"),
        (error_answer(403, "no access"), "refused the key"),
        (
            error_answer(404, "The model `x` does not exist", "model_not_found"),
            "does not know small-1",
        ),
        (error_answer(429, "You exceeded your quota", "insufficient_quota"), "no quota left"),
        (
            Send({"message": "no", "code": "limit_9", "type": "insufficient_quota"}, status=429),
            "no quota left",
        ),
        (error_answer(429, "You have none", "credit_balance_exhausted"), "no quota left"),
        (error_answer(402, "pay"), "no quota left"),
        (error_answer(400, "too long", "context_length_exceeded"), "does not fit the context"),
        (error_answer(413, "large"), "does not fit the context"),
        (
            Send(
                {
                    "error": {
                        "code": 400,
                        "message": "the request exceeds the available context size, try "
                        "increasing it",
                        "type": "exceed_context_size_error",
                    }
                },
                status=400,
            ),
            "does not fit the context",
        ),
        (error_answer(501, "not here"), "refused the request: HTTP 501: not here"),
        (error_answer(400, "nonsense"), "refused the request: HTTP 400: nonsense"),
        (Send("nope", status=418, media_type="text/plain"), "HTTP 418: nope"),
        (Send({"detail": [{"msg": "bad"}]}, status=418), "HTTP 418: .*bad"),
        (Send({}, status=400), "refused the request: HTTP 400"),
    ],
)
def test_what_waiting_does_not_mend_ends_the_run_at_once(answer: Send, words: str) -> None:
    with edge(answer) as it:
        with pytest.raises(ModelUnavailable, match=words) as caught:
            it.ask(chat_request())
        assert caught.value.hint
        assert (it.requests, it.waits) == (1, [])


def test_a_prompt_refused_by_policy_costs_the_attempt_only() -> None:
    with edge(error_answer(400, "flagged", "content_filter")) as it, pytest.raises(ReplyFailed):
        it.client.complete(chat_request())


@pytest.mark.parametrize(("status", "text"), [(429, "slow down"), (500, "oops")])
def test_an_error_under_a_good_status_is_an_error(status: int, text: str) -> None:
    error = Send({"error": {"code": status, "message": text}})
    with edge(error, chat_stream("fine")) as it:
        assert it.client.complete(chat_request()).text == "fine"
        assert it.waits == [1.0]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"code": "invalid_api_key", "type": "invalid_request_error"}, "refused the key"),
        ({"code": "context_length_exceeded"}, "does not fit the context"),
        ({"code": None, "type": "insufficient_quota"}, "no quota left"),
        ({"code": "403", "type": "None"}, "refused the key"),
        ({"type": "not_found_error"}, "does not know small-1"),
    ],
)
def test_an_error_under_a_good_status_that_no_wait_mends_ends_the_run_at_once(
    error: dict[str, object], words: str
) -> None:
    for act in (Send({"error": error}), Stream([{"error": error}])):
        with edge(act) as it:
            with pytest.raises(ModelUnavailable, match=words):
                it.ask(chat_request())
            assert it.requests == 1


def test_the_content_policy_costs_the_attempt_only_under_a_good_status_too() -> None:
    error = Stream([{"error": {"code": "content_filter", "message": "flagged"}}])
    with edge(error) as it, pytest.raises(ReplyFailed, match="content policy"):
        it.client.complete(chat_request())


def test_an_endless_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.llm.reply_bodies._LONGEST_BODY_BYTES", 10_000)
    with edge(Send("x" * 20_000)) as it, pytest.raises(ReplyBroken, match="no end"):
        it.client.complete(chat_request())


def test_hostile_documents_end_in_words_never_in_a_traceback() -> None:
    hostile = [
        {"choices": "x"},
        {"choices": [7]},
        {"choices": [{"message": 3, "finish_reason": {}}]},
        {"choices": [{"message": {"content": [{"text": 1}, 2]}, "finish_reason": "stop"}]},
        {"choices": [{"delta": None}], "usage": [], "model": 5, "error": "x"},
        [],
        "null",
        "[" * 100_000,
    ]
    for document in hostile:
        with edge(Send(document)) as it, pytest.raises((ReplyFailed, ModelUnavailable)):
            it.client.complete(chat_request())
