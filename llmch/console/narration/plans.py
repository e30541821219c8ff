"""Turns the events of planning into lines. The module does no I/O."""

from __future__ import annotations

from collections.abc import Iterator

from llmch.console.figures import count
from llmch.console.line import Line, Mark, Weight
from llmch.console.narration.details import item_lines
from llmch.console.narration.measure import Measure, attempt_text
from llmch.console.narration.whole import PLAN, Whole
from shared.events.plans import (
    PlanAttemptStarted,
    PlanEnded,
    PlanJudged,
    PlanRepaired,
    PlanReviewed,
    PlanStarted,
)

PlanEvent = PlanStarted | PlanAttemptStarted | PlanJudged | PlanRepaired | PlanReviewed | PlanEnded

_MAX_FINDINGS = 12
_MAX_TITLES = 20


class PlanNarrator:
    """Turn the events of planning into lines."""

    def __init__(self, whole: Whole, measure: Measure) -> None:
        self._whole = whole
        self._measure = measure
        self._max_attempts = 0

    def lines(self, event: PlanEvent) -> Iterator[Line]:
        """Return the lines that describe the event."""
        match event:
            case PlanStarted(spec, run_id, max_attempts):
                self._whole.name, self._max_attempts = PLAN, max_attempts
                yield Line(Mark.HEAD, spec, PLAN, "spec", f"run {run_id}")
            case PlanAttemptStarted(attempt):
                text = attempt_text(attempt, self._max_attempts)
                yield Line(Mark.STEP, text, PLAN, "attempt", weight=Weight.PASSING)
            case PlanJudged():
                yield from self._judged(event)
            case PlanRepaired(_, fixes):
                text = f"{count(len(fixes), 'fault')} with one certain remedy, no model asked"
                yield Line(Mark.STEP, text, PLAN, "repaired")
                yield from item_lines(fixes, self._measure.limit(_MAX_FINDINGS))
            case PlanReviewed():
                yield from self._reviewed(event)
            case PlanEnded():
                self._whole.name = ""
                yield from self._ended(event)

    def _judged(self, event: PlanJudged) -> Iterator[Line]:
        counts = [count(event.work_orders, "order")]
        if event.errors:
            counts.append(count(event.errors, "error"))
        if event.warnings:
            counts.append(count(event.warnings, "warning"))
        mark, what = (Mark.FAILED, "refused") if event.errors else (Mark.DONE, "accepted")
        attempt = f"attempt {attempt_text(event.attempt, self._max_attempts)}"
        yield Line(mark, ", ".join(counts), PLAN, what, attempt)
        # Errors come first, and each of them has to be fixed.
        yield from item_lines(event.findings, self._measure.limit(max(_MAX_FINDINGS, event.errors)))

    def _reviewed(self, event: PlanReviewed) -> Iterator[Line]:
        claims, dismissed, aside = event.claims, event.dismissed, f"round {event.round}"
        if event.failure:
            yield Line(Mark.WARNED, f"cannot be used: {event.failure}", PLAN, "review", aside)
            return
        text = f"{count(len(claims), 'claim')} to answer" if claims else "no objection"
        text += f", {dismissed} without proof left out" if dismissed else ""
        yield Line(Mark.RETRY if claims else Mark.DONE, text, PLAN, "review", aside)
        yield from item_lines(claims, self._measure.limit(_MAX_FINDINGS))

    def _ended(self, event: PlanEnded) -> Iterator[Line]:
        attempts = count(event.attempts, "attempt")
        if event.ok:
            orders = count(len(event.titles), "order")
            yield Line(Mark.DONE, orders, PLAN, "PASS", attempts, Weight.VERDICT)
            yield Line(Mark.ITEM, f"plan: {event.output_dir}")
        else:
            yield Line(Mark.FAILED, "no valid plan", PLAN, "FAIL", attempts, Weight.VERDICT)
            yield Line(Mark.ITEM, f"records: {event.run_dir}")
