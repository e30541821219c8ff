"""Every fault on every way to ask: what comes of it, how often it was asked, how long was waited.

"Asked" counts the requests that begin a generation: what was asked once and still exists on the
server is fetched, not asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import Provider, Request
from tests.shared.llm.edge import (
    POLICY,
    FakeClock,
    chat_chunk,
    chat_document,
    chat_request,
    chat_stream,
    created_event,
    edge,
    error_answer,
    final_event,
    outcome,
    planner_request,
    response_document,
    response_event,
    response_stream,
    text_event,
    usage_chunk,
)
from tests.shared.llm.native_edge import (
    NATIVE,
    PROVIDERS,
    Native,
    error_body,
    generated,
    generated_stream,
    good,
    message_begin,
    message_stream,
    native_error,
    text_events,
)
from tests.shared.llm.scripted_server import (
    Act,
    Partial,
    Reset,
    Send,
    Silence,
    Stream,
    refused_port,
)

Way = Literal["chat", "chat stream", "responses"] | Native
WAYS: tuple[Way, ...] = ("chat", "chat stream", "responses", *NATIVE)

GOOD: dict[Way, Act] = {
    "chat": Send(chat_document("good")),
    "chat stream": chat_stream("go", "od"),
    "responses": response_stream("good"),
    "messages": good("messages", "go", "od"),
    "gemini": good("gemini", "go", "od"),
}
FETCHED = Send(response_document(text="good"))
NO_STREAM = error_answer(400, "streams cannot be resumed")


@dataclass(frozen=True)
class Case:
    """A fault and what it comes to: the outcome begins with `outcome`, after `asked` requests."""

    fault: Sequence[Act]
    outcome: str
    asked: int
    waits: tuple[float, ...] = ()
    silent: bool = False


def then(way: Way, fault: Act) -> Sequence[Act]:
    """Return the fault, and what brings the reply home: a new one, or the one the server has."""
    return [fault, NO_STREAM, FETCHED] if way == "responses" else [fault, GOOD[way]]


def broken(way: Way, end: Literal["clean", "reset", "silence"]) -> Act:
    """Return a reply that ends like this after its first piece."""
    match way:
        case "chat":
            return Partial(chat_document("good"), end)
        case "chat stream":
            return Stream([chat_chunk(content="go")], end)
        case "responses":
            return Stream([created_event(), text_event(1, "go")], end)
        case "messages":
            return Stream([message_begin(), *text_events(0, "go")], end)
        case "gemini":
            return Stream([generated("go", finish=None)], end)


def corrupt(way: Way) -> Act:
    match way:
        case "chat":
            return Send('{"choices": [{"mess')
        case "chat stream":
            return Stream([chat_chunk(content="go"), '{"choi'])
        case "responses":
            return Stream([created_event(), '{"type": "resp'])
        case "messages":
            return Stream([message_begin(), *text_events(0, "go"), '{"type": "mess'])
        case "gemini":
            return Stream([generated("go", finish=None), '{"candi'])


def ended(way: Way, finish: str, **said: Any) -> Act:
    """Return a chat reply that ends for that reason."""
    if way == "chat":
        return Send(chat_document("part", finish, **said))
    return Stream([chat_chunk(content="part"), chat_chunk(finish, **said), usage_chunk(), "[DONE]"])


def terminal(status: str, **changes: Any) -> Act:
    """Return a streamed response that ends in that status."""
    final = response_document(status, "part" if status == "incomplete" else None, **changes)
    if status == "cancelled":
        return Stream([created_event(), response_event("response.failed", 1, response=final)])
    return Stream([created_event(), final_event(1, final)])


def refusing(way: Way, status: int, said: str = "no", **headers: str) -> Act:
    """Return an error in the form of the vendor."""
    if way in NATIVE:
        return native_error(way, status, said, **headers)
    return error_answer(status, said, **headers)


def spent(way: Way) -> Act:
    """Return what a server says whose account has no quota that a wait would bring back."""
    if way == "messages":
        return native_error(way, 400, "Your credit balance is too low to access the API.")
    if way == "gemini":
        quota = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
        return Send(error_body(way, 429, "used up", [quota, {"retryDelay": "7s"}]), 429)
    return error_answer(429, "pay first", "insufficient_quota")


def of_any_way(way: Way) -> dict[str, Case]:
    """Return the faults that every way can meet before a reply begins."""
    passing = {
        f"{status}": Case([refusing(way, status), GOOD[way]], "good", 2, (1.0,))
        for status in (408, 409, 429, 500, 502, 503, 504, 529)
    }
    key, server = "ModelUnavailable: the model server at", "ModelUnavailable: the "
    for_good = {
        "400": (refusing(way, 400, "what is this?"), f"{key} http"),
        "401": (refusing(way, 401, "bad key"), key),
        "403": (refusing(way, 403, "not for you"), key),
        "404 model": (
            refusing(way, 404, "no model small")
            if way in NATIVE
            else error_answer(404, "no model small", "model_not_found"),
            key,
        ),
        "quota": (spent(way), f"{server}account at"),
    }
    return {
        **passing,
        **{name: Case([act], said, 1) for name, (act, said) in for_good.items()},
        "429 and when": Case(
            [refusing(way, 429, Retry_After="170"), GOOD[way]], "good", 2, (170.0,)
        ),
        "429 and when, in ms": Case(
            [refusing(way, 429, retry_after_ms="1500"), GOOD[way]], "good", 2, (1.5,)
        ),
        "429 for too long": Case(
            [refusing(way, 429, Retry_After="7200")],
            "ModelUnavailable: waiting for the model server would take too long",
            1,
        ),
        "503 for ever": Case(
            [refusing(way, 503)] * 9,
            "ModelUnavailable: the model server did not answer after 5 tries: HTTP 503",
            5,
            (1.0, 2.0, 4.0, 8.0),
        ),
        "reset": Case([Reset(), GOOD[way]], "good", 2, (1.0,)),
        "silence": Case([Silence(), GOOD[way]], "good", 2, (1.0,), silent=True),
        "silence for ever": Case(
            [Silence()] * 3,
            "ReplyBroken: the server was silent for 0.5 s",
            3,
            (1.0, 2.0),
            silent=True,
        ),
        "HTML": Case(
            [Send("<html>hi</html>", media_type="text/html")],
            "ModelUnavailable: the server at http://127.0.0.1",
            1,
        ),
        "HTML that refuses": Case(
            [Send(f"<!doctype html><title>Denied</title>{'<p>x' * 999}", status=403)],
            "ModelUnavailable: the model server at http://127.0.0.1",
            1,
        ),
        "HTML of a gateway": Case(
            [Send("<html><h1>502 Bad Gateway</h1>", status=502), GOOD[way]], "good", 2, (1.0,)
        ),
    }


def of_replies(way: Way) -> dict[str, Case]:
    """Return the faults of a reply that began."""
    again = 1 if way == "responses" else 2
    return {
        "reset in the middle": Case(then(way, broken(way, "reset")), "good", again, (1.0,)),
        "just ends": Case(then(way, broken(way, "clean")), "good", again, (1.0,)),
        "silent in the middle": Case(
            then(way, broken(way, "silence")), "good", again, (1.0,), silent=True
        ),
        "corrupt": Case(then(way, corrupt(way)), "good", again, (1.0,)),
    }


def of_chat(way: Way) -> dict[str, Case]:
    empty = chat_document() | {"choices": []}
    return {
        "empty choices": Case(
            [Send(empty) if way == "chat" else Stream([usage_chunk(), "[DONE]"])],
            "ReplyFailed: the server's reply holds no choice",
            1,
        ),
        "length": Case([ended(way, "length"), GOOD[way]], "good", 2),
        "length twice": Case([ended(way, "length")] * 2, "ReplyCutShort: the reply reached", 2),
        "content filter": Case(
            [ended(way, "content_filter")], "ReplyFailed: the server's content", 1
        ),
        "refusal": Case(
            [ended(way, "stop", refusal="No.")], "ReplyFailed: the model refused: No.", 1
        ),
        "ends again and again": Case(
            [broken(way, "clean")] * 3, "ReplyBroken: the ", 3, (1.0, 2.0)
        ),
    }


def of_responses() -> dict[str, Case]:
    length = terminal("incomplete", incomplete_details={"reason": "max_output_tokens"})
    filtered = terminal("incomplete", incomplete_details={"reason": "content_filter"})
    bad = terminal("failed", error={"code": "invalid_prompt", "message": "flagged"})
    trouble = terminal("failed", error={"code": "server_error", "message": "oops"})
    refusal = response_document(refusal="No.")
    return {
        "length": Case([length, GOOD["responses"]], "good", 2),
        "length twice": Case([length] * 2, "ReplyCutShort: the reply reached", 2),
        "content filter": Case([filtered], "ReplyFailed: the server's content filter", 1),
        "refusal": Case(
            [Stream([created_event(), final_event(1, refusal)])],
            "ReplyFailed: the model refused: No.",
            1,
        ),
        "failed": Case([bad], "ReplyFailed: the server failed to make the reply: flagged", 1),
        "failed for now": Case([trouble, GOOD["responses"]], "good", 2, (1.0,)),
        "cancelled": Case([terminal("cancelled")], "ReplyFailed: the reply was cancelled", 1),
    }


def of_native(way: Native) -> dict[str, Case]:
    """Return the ends of replies on the wires of Anthropic and Gemini."""

    def ended(stop: str, **more: Any) -> Act:
        if way == "messages":
            return message_stream(*text_events(0, "part"), stop=stop, **more)
        return generated_stream("part", finish=stop)

    cut, filtered = ("max_tokens", "refusal") if way == "messages" else ("MAX_TOKENS", "SAFETY")
    why = {"stop_details": {"type": "refusal", "explanation": "No."}} if way == "messages" else {}
    said = "the model refused: No." if way == "messages" else "the server's content filter stopped"
    empty: Act = message_stream() if way == "messages" else generated_stream({"text": ""})
    inside = Stream([*broken(way, "clean").events, error_body(way, 529, "Overloaded")])  # type: ignore[attr-defined]
    return {
        "length": Case([ended(cut), GOOD[way]], "good", 2),
        "length twice": Case([ended(cut)] * 2, "ReplyCutShort: the reply reached", 2),
        "refusal": Case([ended(filtered, **why)], f"ReplyFailed: {said}", 1),
        "empty": Case([empty], "ReplyFailed: the model's reply is empty", 1),
        "ends again and again": Case(
            [broken(way, "clean")] * 3, "ReplyBroken: the ", 3, (1.0, 2.0)
        ),
        "overloaded in the stream, before a reply": Case(
            [Stream([error_body(way, 529, "Overloaded")]), GOOD[way]], "good", 2, (1.0,)
        ),
        "overloaded in the middle": Case([inside, GOOD[way]], "good", 2, (1.0,)),
        "a stop that nobody knows": Case(
            [ended("sideways")],
            "part" if way == "messages" else "ReplyFailed: the server stopped",
            1,
        ),
    }


def cases() -> list[Any]:
    found = []
    for way in WAYS:
        own = of_native(way) if way in NATIVE else of_chat(way)
        own = of_responses() if way == "responses" else own
        for name, case in (of_any_way(way) | of_replies(way) | own).items():
            found.append(pytest.param(way, case, id=f"{way}: {name}"))
    return found


REQUESTS: dict[Way, Callable[..., Request]] = {
    "chat": chat_request,
    "chat stream": chat_request,
    "responses": planner_request,
    "messages": chat_request,
    "gemini": planner_request,
}


def provider_of(way: Way) -> Provider:
    return PROVIDERS.get(way, Provider.OPENAI)


@pytest.mark.rest
@pytest.mark.parametrize(("way", "case"), cases())
def test_the_matrix(way: Way, case: Case) -> None:
    stall = 0.5 if case.silent else 20.0
    with edge(
        *case.fault, stream=way != "chat", stall_seconds=stall, provider=provider_of(way)
    ) as it:
        said = outcome(lambda: it.ask(REQUESTS[way](max_output_tokens=100)))
        asked = [each for each in it.server.received if each.method == "POST"]
        assert said.startswith(case.outcome)
        # A server on a loaded machine may not have read what the client gave up on.
        assert len(asked) <= case.asked if case.silent else len(asked) == case.asked
        assert tuple(it.clock.sleeps) == case.waits


@pytest.mark.parametrize("way", WAYS)
def test_nobody_listening(way: Way) -> None:
    clock = FakeClock()
    access = ModelAccess(f"http://127.0.0.1:{refused_port()}/v1", "k", provider=provider_of(way))
    with LiveClient(access, policy=POLICY, clock=clock) as client:
        said = outcome(lambda: client.complete(REQUESTS[way]()))
    assert said.startswith("ModelUnavailable: the model server did not answer after 5 tries")
    assert "Connection refused" in said
    assert clock.sleeps == [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize("way", WAYS)
def test_a_cut_reply_is_asked_for_with_twice_the_room(way: Way) -> None:
    own = of_native(way) if way in NATIVE else of_chat(way)
    length = of_responses()["length"] if way == "responses" else own["length"]
    with edge(*length.fault, stream=way != "chat", provider=provider_of(way)) as it:
        completion = it.ask(REQUESTS[way](max_output_tokens=100))
        asked = [body | body.get("generationConfig", {}) for body in it.server.bodies]
        names = ("max_tokens", "max_output_tokens", "maxOutputTokens")
        limits = [body[name] for body in asked for name in names if name in body]
        assert limits == [100, 200]
        assert completion.usage.calls == 2
        assert "asked again with 200" in completion.adjustments[-1]


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_trickles_in_ends_at_the_deadline(way: Way) -> None:
    with edge(
        GOOD[way], stream=way != "chat", deadline_seconds=-1, provider=provider_of(way)
    ) as it:
        said = outcome(lambda: it.client.complete(REQUESTS[way]()))
    assert said.startswith("ReplyFailed: the reply trickled in")
