"""Events as time spans: what ended, what did not, and what waited."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmch.runs.record_files import Fields
from llmch.runs.recorded_planning import tracks_of, usage_by_role
from llmch.runs.run_model import Judged, SpanKind


def event(at: float, kind: str, order: str = "WO-01", **fields: Any) -> Fields:
    return Fields({"at": at, "event": kind, "order": order, **fields})


WAITING = (
    event(1, "attempt_started", attempt=1),
    event(1, "model_call_started", place="factory WO-01 attempt 1", model="m"),
    event(3, "model_call_ended", place="factory WO-01 attempt 1", model="m", seconds=2.0),
    event(9, "candidate_dropped", because="WO-00"),
    event(10, "stage_started", attempt=1, stage="apply"),
    event(11, "command_started", purpose="verify", command="pytest"),
    event(12, "command_ended", purpose="verify", command="pytest", exit_code=0),
    event(20, "usage_counted"),
    event(20, "order_ended", verdict="PASS"),
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
    events = (*WAITING[:6], event(12, "attempt_started", attempt=1), *WAITING[7:])
    (track,) = tracks_of(events, {})
    judged = [each.judged for each in track.spans if each.activity is SpanKind.ATTEMPT]
    assert judged == [Judged.OPEN, Judged.PASSED]


def test_what_belongs_to_no_order_comes_first() -> None:
    before = (
        event(0.1, "command_started", "base", purpose="verify", command="pytest"),
        event(0.5, "command_ended", "base", purpose="verify", command="pytest", exit_code=0),
    )
    tracks = tracks_of((*before, *WAITING), {})
    assert [each.order for each in tracks] == ["", "WO-01"]


def test_calls_are_counted_by_role_and_model() -> None:
    calls = (
        event(1, "model_call_ended", place="planner attempt 1", model="large", input_tokens=5),
        event(2, "model_call_ended", place="factory WO-01 attempt 1", model="m", replayed=True),
        event(3, "model_call_ended", place="factory WO-01 attempt 2", model="m", seconds=2.0),
    )
    found = {(each.role, each.model): each for each in usage_by_role(calls)}
    assert found["planner", "large"].usage.input_tokens == 5
    factory = found["factory", "m"]
    assert (factory.usage.calls, factory.usage.replayed, factory.seconds) == (1, 1, 2.0)


VALUES = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4)
NAMES = st.sampled_from(["at", "order", "attempt", "stage", "verdict", "place", "seconds", "x"])
KINDS = st.sampled_from([each.text("event") for each in WAITING] + ["command_tried", "nonsense"])


@given(st.lists(st.tuples(KINDS, st.dictionaries(NAMES, VALUES)), max_size=12))
def test_any_events_can_be_read(found: list[tuple[str, dict[str, Any]]]) -> None:
    events = [Fields({**fields, "event": kind}) for kind, fields in found]
    for track in tracks_of(events, {}):
        assert all(each.start <= each.end for each in track.spans)
    usage_by_role(events)
