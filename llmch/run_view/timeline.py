"""Turns the events of a run into time spans, by order, and counts calls by role. Pure.

The record of a run that was killed ends anywhere: a span without an end lasts to the last event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from llmch.run_view.fields import Fields
from llmch.run_view.model.states import Judged
from llmch.run_view.model.time_spans import Activity, Span, Track
from llmch.run_view.model.usage import RoleUsage, UsageView
from shared.work_order.schemas import order_number

_NO_WORK = ("candidate_dropped", "usage_counted")
_SHORTEST_WAIT = 0.5  # seconds; what is shorter is work of the harness itself
_VERDICTS = {"PASS": Judged.PASSED, "FAIL": Judged.FAILED}
_MOST_EVENTS = 20_000  # far more than 200 orders of 5 attempts have


def tracks_of(events: Sequence[Fields], titles: Mapping[str, str]) -> tuple[Track, ...]:
    """Return the time spans of each order, in the sequence in which orders began.

    `titles` has the titles of orders by their ids. What belongs to no order comes first.
    """
    found: dict[str, list[Span]] = {}
    open_spans: dict[tuple[str, ...], Span] = {}
    busy_until: dict[str, float] = {}
    last = max((_at(each) for each in events), default=0.0)
    for event in events[:_MOST_EVENTS]:
        order = _order_of(event)
        for span in _ended(event, open_spans):
            found.setdefault(order, []).append(span)
        found.setdefault(order, []).extend(_waited(event, busy_until))
        _start(event, open_spans)
    for (order, *_), span in open_spans.items():
        found.setdefault(order, []).append(replace(span, end=max(span.start, last)))
    return tuple(
        Track(order, titles.get(order, ""), tuple(sorted(spans, key=_by_time)))
        for order, spans in sorted(found.items(), key=lambda item: (item[0] != "", _first(item[1])))
        if spans
    )


def _waited(event: Fields, busy_until: dict[str, float]) -> Iterable[Span]:
    """Return the span that an order waited: to be judged on its parent, or to land after it.

    `busy_until` has when something was last done for each order; it is kept up to date.
    """
    if event.text("event") in _NO_WORK:
        return ()
    order, at = _order_of(event), _at(event)
    since = busy_until.get(order, at)
    busy_until[order] = at
    is_turn = event.text("stage") == "apply" or event.text("event") == "order_ended"
    if is_turn and at - since > _SHORTEST_WAIT:
        return (Span(Activity.WAIT, since, at, "waits for its turn", Judged.OPEN),)
    return ()


def _order_of(event: Fields) -> str:
    """Return the order of an event, "" for what is done before the orders and for none of them."""
    name = event.text("order")
    return name if order_number(name) is not None else ""


def _at(event: Fields) -> float:
    return max(0.0, event.number("at") or 0.0)


def _by_time(span: Span) -> tuple[float, bool, float]:
    return span.start, span.activity is not Activity.ATTEMPT, span.end


def _first(spans: Iterable[Span]) -> float:
    return min((each.start for each in spans), default=0.0)


def _start(event: Fields, spans: dict[tuple[str, ...], Span]) -> None:
    """Begin the span that an event starts, if it starts one."""
    order, at = _order_of(event), _at(event)
    match event.text("event"):
        case "attempt_started":
            number = event.whole("attempt") or 0
            label = f"attempt {number}"
            spans[order, "attempt"] = Span(Activity.ATTEMPT, at, at, label, Judged.OPEN, number)
        case "model_call_started":
            place = event.text("place")
            label = f"model call: {event.text('model')}"
            spans[order, "model", place] = Span(Activity.MODEL, at, at, label, Judged.OPEN)
        case "command_started":
            key = (order, "command", event.text("purpose"), event.text("command"))
            label = f"{event.text('purpose')}: {event.text('command')}"
            spans[key] = Span(Activity.COMMAND, at, at, label, Judged.OPEN)
        case _:
            pass


def _ended(event: Fields, spans: dict[tuple[str, ...], Span]) -> Iterable[Span]:
    """Return the spans that an event ends."""
    order, at = _order_of(event), _at(event)
    key: tuple[str, ...]
    judged = Judged.PASSED
    match event.text("event"):
        case "attempt_failed":
            key, judged = (order, "attempt"), Judged.FAILED
        case "attempt_started":  # the one before is judged again, or its end is not on record
            key, judged = (order, "attempt"), Judged.OPEN
        case "order_ended":
            key = (order, "attempt")
            judged = _VERDICTS.get(event.text("verdict"), Judged.OPEN)
        case "model_call_ended":
            key = (order, "model", event.text("place"))
        case "command_ended":
            key = (order, "command", event.text("purpose"), event.text("command"))
            judged = _judged(event)
        case "command_tried":
            label = f"tried before the work, on {event.text('tree')}: {event.text('command')}"
            start = min(at, max(0.0, at - (event.number("seconds") or 0.0)))
            return (Span(Activity.TRIAL, start, at, label, _judged(event)),)
        case _:
            return ()
    span = spans.pop(key, None)
    return (replace(span, end=max(span.start, at), judged=judged),) if span else ()


def _judged(event: Fields) -> Judged:
    passed = event.whole("exit_code") == 0 or event.text("note")
    return Judged.PASSED if passed else Judged.FAILED


def usage_by_role(events: Iterable[Fields]) -> tuple[RoleUsage, ...]:
    """Return what the calls of each role to each model took; events do not know what they cost."""
    found: dict[tuple[str, str], tuple[UsageView, float]] = {}
    for event in events:
        if event.text("event") != "model_call_ended":
            continue
        replayed = event.is_true("replayed")
        usage = UsageView(
            calls=int(not replayed),
            replayed=int(replayed),
            input_tokens=event.whole("input_tokens") or 0,
            output_tokens=event.whole("output_tokens") or 0,
            cost_usd=None,
        )
        key = (event.text("place").partition(" ")[0], event.text("model"))
        before, seconds = found.get(key, (UsageView(cost_usd=None), 0.0))
        found[key] = before + usage, seconds + (event.number("seconds") or 0.0)
    return tuple(RoleUsage(*key, *values) for key, values in sorted(found.items()))


def attempt_times(tracks: Iterable[Track]) -> Mapping[tuple[str, int], Span]:
    """Return the span of each attempt, by order and number."""
    return {
        (track.order, span.number): span
        for track in tracks
        for span in track.spans
        if span.activity is Activity.ATTEMPT
    }
