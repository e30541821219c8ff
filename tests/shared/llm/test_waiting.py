"""How long is waited before a further call, and when it is given up."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ModelUnavailable
from shared.events.events import Event, ModelRetryScheduled
from shared.llm.call_retry import (
    OwnPace,
    RetryContext,
    RetryPolicy,
    parse_retry_after,
    with_retries,
)
from shared.llm.server_replies import ErrorBody, Refusal, Unreachable, parse_error_body
from tests.shared.llm.edge import FakeClock

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, float("inf")),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after": formatdate(NOW + 90)}, 90.0),  # `-0000`: no time zone is meant
        ({"retry-after": "Wed, 99 Foo 2026 99:99:99 GMT"}, None),
        ({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_what_a_server_asks_for_is_understood(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert parse_retry_after(headers, NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_breaks_anything(value: str) -> None:
    seconds = parse_retry_after({"retry-after": value}, NOW)
    assert seconds is None or seconds >= 0


@given(st.floats(0, 1), st.integers(1, 20))
def test_backoff_doubles_up_to_its_bound_and_is_jittered_downwards(
    jitter: float, retry: int
) -> None:
    policy = RetryPolicy(base_seconds=2.0, longest_seconds=30.0, jitter=lambda: jitter)
    full = min(30.0, 2.0 * 2 ** (retry - 1))
    assert full / 2 <= policy.backoff(retry) <= full


def test_waits_are_announced_with_their_reason() -> None:
    events: list[Event] = []
    answers: list[Exception | str] = [
        Unreachable("no connection"),
        Refusal(429, ErrorBody("slow down"), 5.0),
        "done",
    ]

    def call() -> str:
        answer = answers.pop(0)
        if isinstance(answer, str):
            return answer
        raise answer

    patience = RetryContext(RetryPolicy(jitter=lambda: 1.0), FakeClock(), events.append)
    assert with_retries(call, patience, 2000.0) == "done"
    assert events == [
        ModelRetryScheduled("no connection", 1.0, 1),
        ModelRetryScheduled("HTTP 429: slow down", 5.0, 2),
    ]


def paced(clock: FakeClock, pace: OwnPace, events: list[Event]) -> RetryContext:
    policy = RetryPolicy(jitter=lambda: 0.5)
    return RetryContext(policy, clock, events.append, pace=pace)


def test_a_server_that_had_too_many_calls_gets_none_of_the_others_either() -> None:
    clock, events = FakeClock(), list[Event]()
    pace = OwnPace(clock.now)
    begun: list[float] = []

    def refuse_first() -> str:
        begun.append(clock.now())
        if len(begun) == 1:
            raise Refusal(429, ErrorBody("slow down"), retry_after=20.0)
        return "reply"

    start = clock.now()
    one = paced(clock, pace, events).of("WO-01", "small-1")
    pace.hold("small-1", 5)
    assert with_retries(refuse_first, one, start + 1000) == "reply"
    waits = [each for each in events if isinstance(each, ModelRetryScheduled)]
    assert [each.order for each in waits] == ["WO-01", "WO-01"]
    assert begun[0] - start >= 5
    assert begun[1] - begun[0] >= 20

    pace.hold("small-1", 30)
    other = paced(clock, pace, events).of("WO-02", "large-1")
    before = clock.now()
    with_retries(lambda: "reply", other, before + 1000)
    assert clock.now() == before
    # A call that could not wait so long is made all the same: the server itself says no.
    with_retries(lambda: "reply", one, before + 10)
    assert clock.now() == before


@given(st.lists(st.floats(0, 100), min_size=1, max_size=5))
def test_the_longest_wait_that_was_asked_for_counts(seconds: list[float]) -> None:
    clock = FakeClock()
    pace = OwnPace(clock.now)
    for each in seconds:
        pace.hold("m", each)
    assert pace.seconds_left("m") == pytest.approx(max(seconds), abs=1e-6)
    assert pace.seconds_left("another") == 0


def test_the_deadline_bounds_all_waiting_together() -> None:
    clock = FakeClock()
    patience = RetryContext(RetryPolicy(retries=1000, jitter=lambda: 1.0), clock)

    def call() -> str:
        raise Unreachable("no connection")

    with pytest.raises(ModelUnavailable, match="would take too long: no connection"):
        with_retries(call, patience, clock.now() + 300)
    assert sum(clock.sleeps) <= 300


@pytest.mark.parametrize(
    ("body", "parsed"),
    [
        ({"message": "m", "code": "c", "param": "p", "type": "t"}, ErrorBody("m", "c", "p")),
        ({"error": {"message": "m", "type": "t", "code": None}}, ErrorBody("m", "t", "")),
        ({"error": "plain"}, ErrorBody("plain")),
        ({"detail": [{"msg": "bad"}]}, ErrorBody("[{'msg': 'bad'}]")),
        ({"message": "m", "code": 400}, ErrorBody("m", "400")),
        ("plain\n  text", ErrorBody("plain text")),
        (None, ErrorBody("")),
        ({"odd": 1}, ErrorBody("{'odd': 1}")),
        ("x" * 9999, ErrorBody("x" * 497 + "...")),
    ],
)
def test_error_bodies_come_in_many_forms(body: object, parsed: ErrorBody) -> None:
    assert parse_error_body(body) == parsed


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Please try again in 11.054s. Visit", 11.054),
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 6m0s.", 360.0),
        ("Please try again in 1h2m3.5s.", 3723.5),
        ("Please try again in 2m.", 120.0),
        ("Please try again in 5 minutes.", None),
        ("Please try again later.", None),
        ("Please try again in s.", None),
    ],
)
def test_a_wait_that_the_words_of_an_error_name_is_kept(said: str, seconds: float | None) -> None:
    body = parse_error_body({"error": {"message": said, "code": "rate_limit_exceeded"}})
    assert Refusal(429, body).retry_after == seconds
    assert Refusal(429, body, 7.0).retry_after == 7.0, "the header wins"
