"""Events as time spans: what ended, what did not, and what waited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.runs.recorded_planning import tracks_of, usage_by_role
from llmch.runs.run_model import Judged, SpanKind
from shared.events.events import (
    AttemptStarted,
    CandidateDropped,
    CommandEnded,
    CommandStarted,
    Event,
    ModelCallEnded,
    ModelCallStarted,
    OrderEnded,
    StageStarted,
    UsageCounted,
    event_to_json,
)
from shared.events.run_record import TimedEvent, read_events

CALL = "factory WO-01 attempt 1"


def events_of(*timed: tuple[float, Event]) -> tuple[TimedEvent, ...]:
    return tuple(TimedEvent(*each) for each in timed)


WAITING = events_of(
    (1, AttemptStarted("WO-01", 1)),
    (1, ModelCallStarted(CALL, "m", "WO-01")),
    (3, ModelCallEnded(CALL, "m", 2.0, 0, 0, replayed=False, order="WO-01")),
    (9, CandidateDropped("WO-01", "WO-00")),
    (10, StageStarted("WO-01", 1, "apply")),
    (11, CommandStarted("WO-01", "verify", "pytest")),
    (12, CommandEnded("WO-01", "verify", "pytest", 0, 1.0)),
    (20, UsageCounted(0, 0, 0, 0, None, 0, "WO-01")),
    (20, OrderEnded("WO-01", "PASS", 1, "", "", 20.0, ())),
)


def test_an_order_waits_to_be_judged_and_to_land() -> None:
    (track,) = tracks_of(WAITING, {"WO-01": "Begin"})
    assert track.title == "Begin"
    waits = [(each.start, each.end) for each in track.spans if each.activity is SpanKind.WAIT]
    assert waits == [(3, 10), (12, 20)]


def test_what_has_no_end_lasts_as_long_as_the_record() -> None:
    (track,) = tracks_of(WAITING[:6], {})
    spans = {each.activity: (each.start, each.end, each.judged) for each in track.spans}
    assert spans[SpanKind.ATTEMPT] == (1, 11, Judged.OPEN)
    assert spans[SpanKind.COMMAND] == (11, 11, Judged.OPEN)
    assert spans[SpanKind.MODEL] == (1, 3, Judged.PASSED)


def test_an_attempt_that_is_judged_again_is_neither_passed_nor_failed() -> None:
    events = (*WAITING[:6], *events_of((12, AttemptStarted("WO-01", 1))), *WAITING[7:])
    (track,) = tracks_of(events, {})
    judged = [each.judged for each in track.spans if each.activity is SpanKind.ATTEMPT]
    assert judged == [Judged.OPEN, Judged.PASSED]


def test_what_belongs_to_no_order_comes_first() -> None:
    before = events_of(
        (0.1, CommandStarted("base", "verify", "pytest")),
        (0.5, CommandEnded("base", "verify", "pytest", 0, 0.4)),
    )
    tracks = tracks_of((*before, *WAITING), {})
    assert [each.order for each in tracks] == ["", "WO-01"]


def test_calls_are_counted_by_role_and_model() -> None:
    calls = events_of(
        (1, ModelCallEnded("planner attempt 1", "large", 0.0, 5, 0, replayed=False)),
        (2, ModelCallEnded("factory WO-01 attempt 1", "m", 0.0, 0, 0, replayed=True)),
        (3, ModelCallEnded("factory WO-01 attempt 2", "m", 2.0, 0, 0, replayed=False)),
    )
    found = {(each.role, each.model): each for each in usage_by_role(calls)}
    assert found["planner", "large"].usage.input_tokens == 5
    factory = found["factory", "m"]
    assert (factory.usage.calls, factory.usage.replayed_calls, factory.seconds) == (1, 1, 2.0)


VALUES = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4)
NAMES = st.sampled_from(["at", "order", "attempt", "stage", "verdict", "place", "seconds", "x"])
LINES = st.sampled_from([{"at": each.at, **event_to_json(each.event)} for each in WAITING])


@given(st.lists(st.tuples(LINES, st.dictionaries(NAMES, VALUES)), max_size=12))
def test_any_events_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    log = tmp_path_factory.getbasetemp() / "any_events.jsonl"
    log.write_text("".join(f"{json.dumps(line | odd)}\n" for line, odd in found) + '{"at": 1, "ev')
    events = tuple(read_events(log))
    for track in tracks_of(events, {}):
        assert all(each.start <= each.end for each in track.spans)
    usage_by_role(events)
