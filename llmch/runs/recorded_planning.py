"""Reads a run's plan, how it was made, and when what happened.

The record of a run that was killed ends anywhere: a span without an end lasts to the last event.

The planner's run has a folder and a clock of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.orders.read_orders import read_workdir
from llmch.runs.record_files import (
    Fields,
    calls_of_plan_attempt,
    calls_of_review,
    read_fields,
    read_lines,
)
from llmch.runs.recorded_orders import usage_of
from llmch.runs.run_model import (
    Judged,
    PlanAttemptView,
    PlanningView,
    PlanReviewView,
    RoleUsage,
    SpanKind,
    TimeSpan,
    Track,
    UsageView,
)
from shared.errors import LlmchError
from shared.work_order.plan_folder import MANIFEST_NAME
from shared.work_order.work_order import WorkOrder, order_number

_NO_WORK = ("candidate_dropped", "usage_counted")
_SHORTEST_WAIT = 0.5  # seconds; what is shorter is work of the harness itself
_VERDICTS = {"PASS": Judged.PASSED, "FAIL": Judged.FAILED}
_MOST_EVENTS = 20_000  # far more than 200 orders of 5 attempts have


def tracks_of(events: Sequence[Fields], titles: Mapping[str, str]) -> tuple[Track, ...]:
    """Return the time spans of each order, in the sequence in which orders began.

    `titles` has the titles of orders by their ids. What belongs to no order comes first.
    """
    found: dict[str, list[TimeSpan]] = {}
    open_spans: dict[tuple[str, ...], TimeSpan] = {}
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


def _waited(event: Fields, busy_until: dict[str, float]) -> Iterable[TimeSpan]:
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
        return (TimeSpan(SpanKind.WAIT, since, at, "waits for its turn", Judged.OPEN),)
    return ()


def _order_of(event: Fields) -> str:
    """Return the order of an event, "" for what is done before the orders and for none of them."""
    name = event.text("order")
    return name if order_number(name) is not None else ""


def _at(event: Fields) -> float:
    return max(0.0, event.number("at") or 0.0)


def _by_time(span: TimeSpan) -> tuple[float, bool, float]:
    return span.start, span.activity is not SpanKind.ATTEMPT, span.end


def _first(spans: Iterable[TimeSpan]) -> float:
    return min((each.start for each in spans), default=0.0)


def _start(event: Fields, spans: dict[tuple[str, ...], TimeSpan]) -> None:
    """Begin the span that an event starts, if it starts one."""
    order, at = _order_of(event), _at(event)
    match event.text("event"):
        case "attempt_started":
            number = event.whole("attempt") or 0
            label = f"attempt {number}"
            spans[order, "attempt"] = TimeSpan(SpanKind.ATTEMPT, at, at, label, Judged.OPEN, number)
        case "model_call_started":
            place = event.text("place")
            label = f"model call: {event.text('model')}"
            spans[order, "model", place] = TimeSpan(SpanKind.MODEL, at, at, label, Judged.OPEN)
        case "command_started":
            key = (order, "command", event.text("purpose"), event.text("command"))
            label = f"{event.text('purpose')}: {event.text('command')}"
            spans[key] = TimeSpan(SpanKind.COMMAND, at, at, label, Judged.OPEN)
        case _:
            pass


def _ended(event: Fields, spans: dict[tuple[str, ...], TimeSpan]) -> Iterable[TimeSpan]:
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
            return (TimeSpan(SpanKind.TRIAL, start, at, label, _judged(event)),)
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


def attempt_times(tracks: Iterable[Track]) -> Mapping[tuple[str, int], TimeSpan]:
    """Return the span of each attempt, by order and number."""
    return {
        (track.order, span.number): span
        for track in tracks
        for span in track.spans
        if span.activity is SpanKind.ATTEMPT
    }


_MOST_LISTED: Final = 100  # findings of an attempt, or claims of a review
_MOST_ROUNDS: Final = 50  # attempts, and reviews: `--max-attempts` allows no more


def read_planning(records: Path) -> PlanningView | None:
    """Return how the planner's run in `records` made its plan; `None` where nothing says so."""
    head, events = read_fields(records / "run.json"), tuple(read_lines(records / "events.jsonl"))
    if not head and not events:
        return None
    compiled = records / "compile"
    attempts = tuple(_attempts(events, compiled, records))
    return PlanningView(
        run_id=records.name,
        started=head.text("started"),
        attempts=attempts,
        reviews=tuple(_reviews(events, compiled, records)),
        spans=_spans(events, attempts),
        usage=usage_of(head.fields("usage")),
    )


def _attempts(events: Sequence[Fields], folder: Path, records: Path) -> Iterator[PlanAttemptView]:
    begun = dict.fromkeys(each.whole("attempt") for each in _of(events, "plan_attempt_started"))
    judged = {each.whole("attempt"): each for each in _of(events, "plan_judged")}
    fixed = {each.whole("attempt"): each.texts("fixes") for each in _of(events, "plan_repaired")}
    for number in [each for each in begun if each is not None][:_MOST_ROUNDS]:
        found = judged.get(number, Fields())
        yield PlanAttemptView(
            number=number,
            judged=_outcome(found),
            work_orders=found.whole("work_orders") or 0,
            errors=found.whole("errors") or 0,
            warnings=found.whole("warnings") or 0,
            findings=found.texts("findings")[:_MOST_LISTED],
            fixes=fixed.get(number, ())[:_MOST_LISTED],
            calls=calls_of_plan_attempt(folder, number, records),
        )


def _outcome(judged: Fields) -> Judged:
    if not judged:
        return Judged.OPEN
    return Judged.FAILED if judged.whole("errors") else Judged.PASSED


def _reviews(events: Sequence[Fields], folder: Path, records: Path) -> Iterator[PlanReviewView]:
    for each in tuple(_of(events, "plan_reviewed"))[:_MOST_ROUNDS]:
        number = each.whole("round") or 1
        yield PlanReviewView(
            number=number,
            claims=each.texts("claims")[:_MOST_LISTED],
            dismissed=each.whole("dismissed") or 0,
            failure=each.text("failure"),
            calls=calls_of_review(folder, number, records),
        )


def _of(events: Iterable[Fields], kind: str) -> Iterator[Fields]:
    return (each for each in events if each.text("event") == kind)


def _spans(events: Sequence[Fields], attempts: Sequence[PlanAttemptView]) -> tuple[TimeSpan, ...]:
    """Return the attempts and the calls; an attempt lasts until the plan is judged."""
    outcome = {each.number: each.judged for each in attempts}
    last = max((_at(each) for each in events), default=0.0)
    found = [span for track in tracks_of(events, {}) for span in track.spans]
    open_span: TimeSpan | None = None
    for event in events:
        number = event.whole("attempt") or 0
        kind = event.text("event")
        ends = kind in ("plan_attempt_started", "plan_judged", "plan_ended")
        if open_span is not None and ends:
            found.append(replace(open_span, end=max(open_span.start, _at(event))))
            open_span = None
        if kind == "plan_attempt_started" and number in outcome:
            at, label = _at(event), f"attempt {number} at the plan"
            open_span = TimeSpan(SpanKind.ATTEMPT, at, at, label, outcome[number], number)
    if open_span is not None:
        found.append(replace(open_span, end=max(open_span.start, last)))
    return tuple(
        sorted(found, key=lambda each: (each.start, each.activity is not SpanKind.ATTEMPT))
    )


_RUN_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID


@dataclass(frozen=True, slots=True)
class PlanView:
    """Hold a plan with the usage of the planner; `missing` says what is not there, if anything."""

    title: str = ""
    overview: tuple[str, ...] = ()
    orders: tuple[WorkOrder, ...] = ()
    roles: tuple[RoleUsage, ...] = ()
    usage: UsageView = field(default_factory=UsageView)
    spec: str = ""
    missing: str = ""
    planning: PlanningView | None = None


def read_plan(run: Path, head: Fields) -> PlanView:
    """Return the plan of the run in the folder `run`, which has this head; a single order has none.

    How it was made is read where the records of the planner's run are: around the plan, or beside
    those of the run.
    """
    folder = head.path("workdir")
    if head.text("command") == "run" or folder is None:
        return PlanView()
    try:
        loaded = read_workdir(folder)
    except LlmchError as error:
        return PlanView(missing=f"the plan cannot be read any more: {error.message}")
    facts = next((each.plan for each in loaded if each.plan), None)
    if facts and facts.manifest_sha256 != head.text("manifest_sha256"):
        return PlanView(missing=f"the plan in {folder} is not the one of this run any more")
    manifest = read_fields(folder / MANIFEST_NAME)
    records = _records_of_planner(folder, run, facts.planner_run_id if facts else "")
    made = read_fields(records / "run.json") if records else Fields()
    usage = usage_of(made.fields("usage")) if made.fields("usage") else UsageView()
    return PlanView(
        title=facts.title if facts else "",
        overview=_overview(manifest),
        orders=tuple(each.order for each in loaded),
        roles=tuple(_roles(records, usage)) if records else (),
        usage=usage,
        spec=made.text("spec"),
        planning=read_planning(records) if records else None,
    )


def _overview(manifest: Fields) -> tuple[str, ...]:
    one = manifest.text("system_overview")
    return (one,) if one else manifest.texts("system_overview")


def _records_of_planner(folder: Path, run: Path, run_id: str) -> Path | None:
    """Return the folder of the run that made the plan in `folder`, if it is here."""
    if not _RUN_ID.fullmatch(run_id):
        return None
    around, beside = folder.parent, run.parent.parent / "planner" / run_id
    if around.name == run_id:
        return around
    return beside if beside.is_dir() else None


def _roles(records: Path, usage: UsageView) -> Iterator[RoleUsage]:
    found = usage_by_role(read_lines(records / "events.jsonl"))
    for each in found:
        whole = usage if len(found) == 1 else each.usage
        yield RoleUsage(each.role, each.model, whole, each.seconds)
