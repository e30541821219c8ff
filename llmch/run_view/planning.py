"""Reads how a plan was made: attempts with what the rules found, reviews, and their time spans.

The planner's run has a folder and a clock of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from llmch.run_view.calls import calls_of_plan_attempt, calls_of_review
from llmch.run_view.documents import read_fields, read_lines
from llmch.run_view.fields import Fields
from llmch.run_view.model.planning import PlanAttemptView, PlanningView, PlanReviewView
from llmch.run_view.model.states import Judged
from llmch.run_view.model.time_spans import Activity, Span
from llmch.run_view.summaries import usage_of
from llmch.run_view.timeline import tracks_of

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


def _spans(events: Sequence[Fields], attempts: Sequence[PlanAttemptView]) -> tuple[Span, ...]:
    """Return the attempts and the calls; an attempt lasts until the plan is judged."""
    outcome = {each.number: each.judged for each in attempts}
    last = max((_at(each) for each in events), default=0.0)
    found = [span for track in tracks_of(events, {}) for span in track.spans]
    open_span: Span | None = None
    for event in events:
        number = event.whole("attempt") or 0
        kind = event.text("event")
        ends = kind in ("plan_attempt_started", "plan_judged", "plan_ended")
        if open_span is not None and ends:
            found.append(replace(open_span, end=max(open_span.start, _at(event))))
            open_span = None
        if kind == "plan_attempt_started" and number in outcome:
            at, label = _at(event), f"attempt {number} at the plan"
            open_span = Span(Activity.ATTEMPT, at, at, label, outcome[number], number)
    if open_span is not None:
        found.append(replace(open_span, end=max(open_span.start, last)))
    return tuple(
        sorted(found, key=lambda each: (each.start, each.activity is not Activity.ATTEMPT))
    )


def _at(event: Fields) -> float:
    return max(0.0, event.number("at") or 0.0)
