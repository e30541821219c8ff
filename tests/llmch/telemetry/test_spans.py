"""Events as operations on spans: whatever comes in whatever sequence, the trace is whole."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from llmch.telemetry import COMMAND, Begin, Describe, End, Key, Note, Operation, Spans
from shared.events.events import (
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptStarted,
    BatchEnded,
    BatchStarted,
    CandidateDropped,
    Channel,
    CommandEnded,
    CommandStarted,
    CommandTried,
    Event,
    ModelCallEnded,
    ModelCallStarted,
    ModelRetryScheduled,
    ModelTextArrived,
    Noted,
    OrderEnded,
    OrderSkipped,
    OrderStarted,
    PlanAttemptStarted,
    PlanEnded,
    PlanJudged,
    PlanStarted,
    StageStarted,
    UsageCounted,
    WritesApplied,
)

SECRET = "the words of a model"


def _of_order(name: str) -> tuple[Event, ...]:
    return (
        OrderStarted(name, SECRET, "work", "b" * 40, 5),
        AttemptStarted(name, 1),
        StageStarted(name, 1, "propose"),
        StageStarted(name, 1, "verify"),
        ModelCallStarted(f"factory {name} attempt 1", "small", name),
        ModelTextArrived(Channel.TEXT, SECRET, name),
        ModelRetryScheduled(SECRET, 1.0, 1, name),
        ModelCallEnded(f"factory {name} attempt 1", "small", 1.0, 10, 2, False, name),
        ModelCallStarted(f"factory {name} attempt 1", "agent", name),
        AgentStarted(name, 1, "agent"),
        ModelCallStarted(f"factory {name} attempt 1 turn 1", "small", name),
        ModelCallEnded(f"factory {name} attempt 1 turn 1", "small", 1.0, 10, 2, False, name),
        AgentEnded(name, 1, "ended", 1, 1.0, ("a.txt",)),
        ModelCallEnded(f"factory {name} attempt 1", "small", 1.0, 0, 0, False, name),
        WritesApplied(name, 1, ("a.txt",), SECRET),
        CommandTried(name, "baseline", SECRET, 1, 0.1),
        CommandStarted(name, "verify", SECRET),
        CommandEnded(name, "verify", SECRET, 1, 0.1),
        AttemptFailed(name, 1, "verify_failed", SECRET, 1, SECRET, "again"),
        UsageCounted(1, 10, 0, 2, 0.01, 0, name),
        CandidateDropped(name, "WO-09"),
        OrderEnded(name, "PASS", 1, "c" * 40, "work", 1.0, ("a.txt",)),
        OrderEnded(name, "FAIL", 1, "", "work", 1.0, ()),
        OrderSkipped(name, SECRET, "c" * 40),
    )


EVENTS = (
    PlanStarted("spec.md", "01K", 5),
    PlanAttemptStarted(1),
    ModelCallStarted("planner attempt 1", "large"),
    ModelTextArrived(Channel.TEXT, SECRET),
    ModelCallEnded("planner attempt 1", "large", 1.0, 10, 2, True),
    PlanJudged(1, 2, 1, 0, (SECRET,)),
    PlanEnded(True, 1, (SECRET,), "out", "run"),
    BatchStarted(2, "work", "b" * 40),
    UsageCounted(1, 10, 0, 2, None, 0),
    BatchEnded("PASS", "work", "c" * 40, 2, 2, 1.0),
    Noted(SECRET),
    *_of_order("WO-01"),
    *_of_order("WO-02"),
)


def operations(*events: Event, content: bool = False, error: str = "") -> list[Operation]:
    spans = Spans(content)
    return [*(each for event in events for each in spans.follow(event)), *spans.close(error)]


def hold_whole(done: Iterable[Operation]) -> None:
    """Hold that each operation is on a span that is open, and that all are ended in the end."""
    parents: dict[Key, Key | None] = {COMMAND: None}
    for each in done:
        match each:
            case Begin(key, parent):
                assert key not in parents
                assert parent in parents
                parents[key] = parent
            case End(key):
                assert key in parents
                assert key not in parents.values(), "a child is open"
                del parents[key]
            case Describe(key) | Note(key):
                assert key in parents
    assert parents == {}


@settings(max_examples=500)
@given(st.lists(st.sampled_from(EVENTS), max_size=40), st.booleans(), st.sampled_from(["", "X"]))
def test_any_events_in_any_sequence_make_a_whole_trace(
    events: list[Event], content: bool, error: str
) -> None:
    hold_whole(operations(*events, content=content, error=error))


@given(st.permutations(EVENTS))
def test_no_text_of_a_model_is_drawn_unless_it_is_asked_for(events: list[Event]) -> None:
    drawn = [getattr(each, "attributes", "") for each in operations(*events)]
    assert SECRET not in repr(drawn)


def test_what_is_asked_for_is_drawn() -> None:
    drawn = repr(operations(*EVENTS, content=True))
    for name in ("llmch.title", "process.command_line", "llmch.excerpt", "llmch.findings"):
        assert f"'{name}': '{SECRET}'" in drawn
    assert "gen_ai.output.messages" in drawn


def test_orders_side_by_side_keep_their_own_spans() -> None:
    one, two = _of_order("WO-01"), _of_order("WO-02")
    events = (
        BatchStarted(2, "work", "b" * 40),
        *(e for pair in zip(one, two, strict=True) for e in pair),
    )
    for each in operations(*events):
        if isinstance(each, Begin) and len(each.key) > 2:
            assert each.key[:2] == each.parent[:2]
        elif isinstance(each, Begin) and each.key[0] == "order":
            assert each.parent == ("batch",)


def test_what_was_open_when_a_command_ended_says_why() -> None:
    one = _of_order("WO-01")
    done = operations(*one[:5], error="INTERRUPTED")
    ends = {each.key: each.error for each in done if isinstance(each, End)}
    assert ends == {
        COMMAND: "INTERRUPTED",
        ("order", "WO-01"): "INTERRUPTED",
        ("order", "WO-01", "attempt"): "INTERRUPTED",
        ("order", "WO-01", "attempt", "stage"): "INTERRUPTED",
        ("order", "WO-01", "attempt", "stage", "agent", "call"): "INTERRUPTED",
    }
