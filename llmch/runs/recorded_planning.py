"""Reads a run's plan, how it was made, and when what happened.

The record of a run that was killed ends anywhere: a span without an end lasts to the last event.

The planner's run has a folder and a clock of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.orders.read_orders import read_workdir
from factory.record.runs_on_record import NO_DOCUMENT, RunDocument, read_run_document
from llmch.runs.recorded_attempts import calls_of_plan_attempt, calls_of_review
from llmch.runs.run_model import (
    Judged,
    PlanAttemptView,
    PlanningView,
    PlanReviewView,
    RoleUsage,
    SpanKind,
    TimeSpan,
    Track,
)
from shared.errors import LlmchError
from shared.events.events import (
    AttemptFailed,
    AttemptStarted,
    CandidateDropped,
    CommandEnded,
    CommandStarted,
    CommandTried,
    Event,
    ModelCallEnded,
    ModelCallStarted,
    OrderEnded,
    PlanAttemptStarted,
    PlanEnded,
    PlanJudged,
    PlanRepaired,
    PlanReviewed,
    StageStarted,
    UsageCounted,
)
from shared.events.run_record import TimedEvent, is_run_id, read_events
from shared.files.typed_documents import Faults, read_record
from shared.llm.usage import NO_USAGE, UNKNOWN_USAGE, UsageRecord
from shared.work_order.plan_folder import MANIFEST_NAME
from shared.work_order.work_order import Assumption, WorkOrder, order_number

_NO_WORK = (CandidateDropped, UsageCounted)
_SHORTEST_WAIT = 0.5  # seconds; what is shorter is work of the harness itself
_VERDICTS = {"PASS": Judged.PASSED, "FAIL": Judged.FAILED}
_MOST_EVENTS = 20_000  # far more than 200 orders of 5 attempts have


def tracks_of(events: Sequence[TimedEvent], titles: Mapping[str, str]) -> tuple[Track, ...]:
    """Return the time spans of each order, in the sequence in which orders began.

    `titles` has the titles of orders by their ids. Spans without an order come first.
    """
    found: dict[str, list[TimeSpan]] = {}
    open_spans: dict[tuple[str, ...], TimeSpan] = {}
    busy_until: dict[str, float] = {}
    last = max((each.at for each in events), default=0.0)
    for timed in events[:_MOST_EVENTS]:
        spans = found.setdefault(_order_of(timed.event), [])
        spans += _ended(timed, open_spans)
        spans += _waited(timed, busy_until)
        _start(timed, open_spans)
    for (order, *_), span in open_spans.items():
        found.setdefault(order, []).append(replace(span, end=max(span.start, last)))
    return tuple(
        Track(order, titles.get(order, ""), tuple(sorted(spans, key=_by_time)))
        for order, spans in sorted(found.items(), key=lambda item: (item[0] != "", _first(item[1])))
        if spans
    )


def _waited(timed: TimedEvent, busy_until: dict[str, float]) -> Iterable[TimeSpan]:
    """Return the span that an order waited: to be judged on its parent, or to land after it.

    `busy_until` has when something was last done for each order; it is kept up to date.
    """
    event, at = timed.event, timed.at
    if isinstance(event, _NO_WORK):
        return ()
    order = _order_of(event)
    since = busy_until.get(order, at)
    busy_until[order] = at
    is_turn = isinstance(event, OrderEnded) or (
        isinstance(event, StageStarted) and event.stage == "apply"
    )
    if is_turn and at - since > _SHORTEST_WAIT:
        return (TimeSpan(SpanKind.WAIT, since, at, "waits for its turn", Judged.OPEN),)
    return ()


def _order_of(event: Event) -> str:
    """Return the order of an event, "" for what is done before the orders and for none of them."""
    name = getattr(event, "order", None) or ""
    return name if order_number(name) is not None else ""


def _by_time(span: TimeSpan) -> tuple[float, bool, float]:
    return span.start, span.activity is not SpanKind.ATTEMPT, span.end


def _first(spans: Iterable[TimeSpan]) -> float:
    return min((each.start for each in spans), default=0.0)


def _start(timed: TimedEvent, spans: dict[tuple[str, ...], TimeSpan]) -> None:
    order, at = _order_of(timed.event), timed.at
    match timed.event:
        case AttemptStarted(attempt=number):
            label = f"attempt {number}"
            span = TimeSpan(SpanKind.ATTEMPT, at, at, label, Judged.OPEN, number)
            spans[order, "attempt"] = span
        case ModelCallStarted(place=place, model=model):
            label = f"model call: {model}"
            spans[order, "model", place] = TimeSpan(SpanKind.MODEL, at, at, label, Judged.OPEN)
        case CommandStarted(purpose=purpose, command=command):
            span = TimeSpan(SpanKind.COMMAND, at, at, f"{purpose}: {command}", Judged.OPEN)
            spans[order, "command", purpose, command] = span
        case _:
            pass


def _ended(timed: TimedEvent, spans: dict[tuple[str, ...], TimeSpan]) -> Iterable[TimeSpan]:
    order, at = _order_of(timed.event), timed.at
    key: tuple[str, ...]
    judged = Judged.PASSED
    match timed.event:
        case AttemptFailed():
            key, judged = (order, "attempt"), Judged.FAILED
        case AttemptStarted():  # the one before is judged again, or its end is not on record
            key, judged = (order, "attempt"), Judged.OPEN
        case OrderEnded(verdict=verdict):
            key, judged = (order, "attempt"), _VERDICTS.get(verdict, Judged.OPEN)
        case ModelCallEnded(place=place):
            key = (order, "model", place)
        case CommandEnded(purpose=purpose, command=command, exit_code=code, note=note):
            key = (order, "command", purpose, command)
            judged = _judged(code, note)
        case CommandTried(tree=tree, command=command, exit_code=code, seconds=seconds):
            label = f"tried before the work, on {tree}: {command}"
            start = min(at, max(0.0, at - seconds))
            return (TimeSpan(SpanKind.TRIAL, start, at, label, _judged(code)),)
        case _:
            return ()
    span = spans.pop(key, None)
    return (replace(span, end=max(span.start, at), judged=judged),) if span else ()


def _judged(exit_code: int, note: str = "") -> Judged:
    return Judged.PASSED if exit_code == 0 or note else Judged.FAILED


def usage_by_role(events: Iterable[TimedEvent]) -> tuple[RoleUsage, ...]:
    """Return what the calls of each role to each model took; events do not know what they cost."""
    found: dict[tuple[str, str], tuple[UsageRecord, float]] = {}
    for timed in events:
        event = timed.event
        if not isinstance(event, ModelCallEnded):
            continue
        usage = replace(
            UNKNOWN_USAGE,
            calls=int(not event.replayed),
            replayed_calls=int(event.replayed),
            input_tokens=event.input_tokens,
            output_tokens=event.output_tokens,
        )
        key = (event.place.partition(" ")[0], event.model)
        before, seconds = found.get(key, (UNKNOWN_USAGE, 0.0))
        found[key] = before + usage, seconds + event.seconds
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
    """Return how the planner's run in `records` made its plan; `None` if nothing says so."""
    head, events = read_run_document(records), tuple(read_events(records / "events.jsonl"))
    if head == NO_DOCUMENT and not events:
        return None
    compiled = records / "compile"
    attempts = tuple(_attempts([each.event for each in events], compiled, records))
    return PlanningView(
        run_id=records.name,
        started=head.started,
        attempts=attempts,
        reviews=tuple(_reviews([each.event for each in events], compiled, records)),
        spans=_spans(events, attempts),
        usage=head.usage or UNKNOWN_USAGE,
    )


def _attempts(events: Sequence[Event], folder: Path, records: Path) -> Iterator[PlanAttemptView]:
    begun = dict.fromkeys(each.attempt for each in events if isinstance(each, PlanAttemptStarted))
    judged = {each.attempt: each for each in events if isinstance(each, PlanJudged)}
    fixed = {each.attempt: each.fixes for each in events if isinstance(each, PlanRepaired)}
    for number in tuple(begun)[:_MOST_ROUNDS]:
        found = judged.get(number) or PlanJudged(number, 0, 0, 0, ())
        failed = Judged.FAILED if found.errors else Judged.PASSED
        yield PlanAttemptView(
            number=number,
            judged=failed if number in judged else Judged.OPEN,
            work_orders=found.work_orders,
            errors=found.errors,
            warnings=found.warnings,
            findings=found.findings[:_MOST_LISTED],
            fixes=fixed.get(number, ())[:_MOST_LISTED],
            calls=calls_of_plan_attempt(folder, number, records),
        )


def _reviews(events: Sequence[Event], folder: Path, records: Path) -> Iterator[PlanReviewView]:
    for each in [each for each in events if isinstance(each, PlanReviewed)][:_MOST_ROUNDS]:
        yield PlanReviewView(
            number=each.round,
            claims=each.claims[:_MOST_LISTED],
            dismissed=each.dismissed,
            failure=each.failure,
            calls=calls_of_review(folder, each.round, records),
        )


def _spans(
    events: Sequence[TimedEvent], attempts: Sequence[PlanAttemptView]
) -> tuple[TimeSpan, ...]:
    """Return the attempts and the calls; an attempt lasts until the plan is judged."""
    outcome = {each.number: each.judged for each in attempts}
    last = max((each.at for each in events), default=0.0)
    found = [span for track in tracks_of(events, {}) for span in track.spans]
    open_span: TimeSpan | None = None
    for timed in events:
        event, at = timed.event, timed.at
        ends = isinstance(event, PlanAttemptStarted | PlanJudged | PlanEnded)
        if open_span is not None and ends:
            found.append(replace(open_span, end=max(open_span.start, at)))
            open_span = None
        if isinstance(event, PlanAttemptStarted) and event.attempt in outcome:
            number, label = event.attempt, f"attempt {event.attempt} at the plan"
            open_span = TimeSpan(SpanKind.ATTEMPT, at, at, label, outcome[number], number)
    if open_span is not None:
        found.append(replace(open_span, end=max(open_span.start, last)))
    return tuple(
        sorted(found, key=lambda each: (each.start, each.activity is not SpanKind.ATTEMPT))
    )


@dataclass(frozen=True, slots=True)
class PlanView:
    """Hold a plan with the usage of the planner; `missing` says what is not there, if anything."""

    title: str = ""
    overview: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    orders: tuple[WorkOrder, ...] = ()
    roles: tuple[RoleUsage, ...] = ()
    usage: UsageRecord = NO_USAGE
    spec: str = ""
    missing: str = ""
    planning: PlanningView | None = None


def read_plan(run: Path, head: RunDocument) -> PlanView:
    """Return the plan of the run in the folder `run`, which has this head.

    An order that was run alone has one where it is the plan's only order, as `do` makes it. How the
    plan was made is read where the records of the planner's run are: around the plan, or beside
    those of the run.
    """
    alone = head.work_order if head.command == "run" and head.manifest_sha256 else None
    folder = alone.parent if alone is not None else head.workdir
    if folder is None:
        return PlanView()
    try:
        loaded = read_workdir(folder)
    except LlmchError as error:
        missing = "" if alone else f"the plan cannot be read any more: {error.message}"
        return PlanView(missing=missing)
    facts = next((each.plan for each in loaded if each.plan), None)
    if facts and facts.manifest_sha256 != head.manifest_sha256:
        missing = "" if alone else f"the plan in {folder} is not the one of this run any more"
        return PlanView(missing=missing)
    if alone and len(loaded) > 1:
        return PlanView()
    manifest = read_record(folder / MANIFEST_NAME, _Overview, Faults()) or _Overview()
    records = _records_of_planner(folder, run, facts.planner_run_id if facts else "")
    made = read_run_document(records) if records else NO_DOCUMENT
    usage = made.usage or NO_USAGE
    return PlanView(
        title=facts.title if facts else "",
        overview=manifest.paragraphs,
        assumptions=facts.assumptions if facts else (),
        orders=tuple(each.order for each in loaded),
        roles=tuple(_roles(records, usage)) if records else (),
        usage=usage,
        spec=made.spec,
        planning=read_planning(records) if records else None,
    )


@dataclass(frozen=True, slots=True)
class _Overview:
    system_overview: tuple[str, ...] | str = ()

    @property
    def paragraphs(self) -> tuple[str, ...]:
        one = self.system_overview
        return (one,) if isinstance(one, str) else one


def _records_of_planner(folder: Path, run: Path, run_id: str) -> Path | None:
    """Return the folder of the run that made the plan in `folder`, if it is here."""
    if not is_run_id(run_id):
        return None
    around, beside = folder.parent, run.parent.parent / "planner" / run_id
    if around.name == run_id:
        return around
    return beside if beside.is_dir() else None


def _roles(records: Path, usage: UsageRecord) -> Iterator[RoleUsage]:
    found = usage_by_role(read_events(records / "events.jsonl"))
    for each in found:
        whole = usage if len(found) == 1 else each.usage
        yield RoleUsage(each.role, each.model, whole, each.seconds)
