"""Tells what happens, in lines: each event becomes none, one or several. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from llmch.console.clean import on_texts, shorten
from llmch.console.details import excerpt_lines, item_lines, look_lines, usage_text
from llmch.console.figures import count, duration, listed, short
from llmch.console.line import Line, Mark, Weight
from llmch.console.thoughts import Thoughts
from shared.events import (
    AttemptFailed,
    AttemptStarted,
    BatchEnded,
    BatchStarted,
    CommandEnded,
    CommandFlagged,
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
    PlanRepaired,
    PlanReviewed,
    PlanStarted,
    StageStarted,
    UsageCounted,
    Warned,
    WritesApplied,
)

PLAN = "plan"
BATCH = "run-all"
MODEL = "model"

_MAX_FILES = 6
_MAX_FINDINGS = 12
_MAX_TITLES = 20
_MAX_COMMAND = 300  # characters; the records have the whole
_MAX_REPEATED = 100  # of a command that has been told in full just before
_MAX_SUMMARY = 160


class Narrator:
    """Turns events, in the order they happen, into lines.

    `cwd` is left out of commands that are shown to be copied. `protect` makes a text fit to be
    shown: events pass through `fit` first, and the pieces of a model's text once they are lines.
    """

    def __init__(self, *, verbose: bool, cwd: str, protect: Callable[[str], str]) -> None:
        self._verbose = verbose
        self._cwd = cwd
        self._protect = protect
        self._thoughts: defaultdict[str, Thoughts] = defaultdict(lambda: Thoughts(protect))
        self._max_attempts: dict[str, int] = {}
        self._failures: dict[str, AttemptFailed] = {}
        # What is under way as a whole (the plan, the batch, or neither), and what ended a batch.
        self._whole = ""
        self._batch_failure = ""

    @property
    def _in_batch(self) -> bool:
        return self._whole == BATCH

    def fit(self, event: Event) -> Event:
        """Return the event fit to be shown; but not a piece, which may end within a sequence."""
        if isinstance(event, ModelTextArrived):
            return event
        shown: Event = on_texts(event, self._protect)
        return shown

    def tell(self, event: Event) -> tuple[Line, ...]:
        """Return the lines that say what happened."""
        return tuple(self._lines(event))

    def _lines(self, event: Event) -> Iterator[Line]:
        match event:
            case Warned(message):
                yield Line(Mark.WARNED, message, "warning")
            case Noted(message):
                yield Line(Mark.STEP, message, "note")
            case ModelCallStarted() | ModelCallEnded() | ModelRetryScheduled() | UsageCounted():
                yield from self._tell_call(event)
            case ModelTextArrived():
                yield from self._tell_text(event)
            case PlanStarted() | PlanAttemptStarted() | PlanJudged() | PlanEnded():
                yield from self._tell_plan(event)
            case PlanRepaired() | PlanReviewed():
                yield from self._tell_second_look(event)
            case OrderStarted() | AttemptStarted() | StageStarted() | OrderSkipped():
                yield from self._tell_start(event)
            case WritesApplied() | CommandStarted() | CommandEnded() | AttemptFailed():
                yield from self._tell_attempt(event)
            case CommandTried(order, tree, command, exit_code, seconds):
                text = f"{self._command(command, _MAX_REPEATED)}: exit {exit_code}"
                aside = duration(seconds)
                yield Line(Mark.STEP, text, order, tree, aside, weight=Weight.VERBOSE)
            case CommandFlagged(order, code, command, message):
                text = f"`{self._command(command, _MAX_REPEATED)}` {message}"
                yield Line(Mark.WARNED, text, order, code)
            case OrderEnded():
                yield from self._tell_order_end(event)
            case BatchStarted() | BatchEnded():
                yield from self._tell_batch(event)
            case _:
                yield Line(Mark.STEP, repr(event), event.kind, weight=Weight.VERBOSE)

    # Model calls

    def _tell_call(
        self, event: ModelCallStarted | ModelCallEnded | ModelRetryScheduled | UsageCounted
    ) -> Iterator[Line]:
        match event:
            case ModelCallStarted(_, model, order):
                self._thoughts[order or PLAN].end()
                yield Line(Mark.STEP, model, order or PLAN, "ask", weight=Weight.PASSING)
            case ModelCallEnded():
                yield from _thought_lines(self._thoughts[event.order or PLAN].end())
                aside = "replayed" if event.replayed else duration(event.seconds)
                yield Line(Mark.STEP, _reply(event), event.order or PLAN, "reply", aside)
            case ModelRetryScheduled(reason, wait, retry, order):
                text = f"{reason}; trying again in {duration(wait)}"
                yield Line(Mark.RETRY, text, order or MODEL, "wait", f"retry {retry}")
            case UsageCounted():
                yield from self._tell_usage(event)

    def _tell_usage(self, event: UsageCounted) -> Iterator[Line]:
        # Within a batch, the sum at its end is enough.
        weight = Weight.VERBOSE if event.order and self._in_batch else Weight.NORMAL
        yield Line(
            Mark.STEP,
            usage_text(event),
            event.order or self._whole or MODEL,
            "usage",
            weight=weight,
        )

    def _tell_text(self, event: ModelTextArrived) -> Iterator[Line]:
        """Tell what a model thinks, by whole lines; its reply is JSON, and on record."""
        if event.channel == "reasoning" and self._verbose:
            yield from _thought_lines(self._thoughts[event.order or PLAN].add(event.text))

    # Planner

    def _tell_plan(
        self, event: PlanStarted | PlanAttemptStarted | PlanJudged | PlanEnded
    ) -> Iterator[Line]:
        match event:
            case PlanStarted(spec, run_id, max_attempts):
                self._whole = PLAN
                self._max_attempts[PLAN] = max_attempts
                yield Line(Mark.HEAD, spec, PLAN, "spec", f"run {run_id}")
            case PlanAttemptStarted(attempt):
                text = self._attempt_of(PLAN, attempt)
                yield Line(Mark.STEP, text, PLAN, "attempt", weight=Weight.PASSING)
            case PlanJudged():
                yield from self._tell_judged(event)
            case PlanEnded():
                self._whole = ""
                yield from self._tell_plan_end(event)

    def _tell_judged(self, event: PlanJudged) -> Iterator[Line]:
        counts = [count(event.work_orders, "order")]
        if event.errors:
            counts.append(count(event.errors, "error"))
        if event.warnings:
            counts.append(count(event.warnings, "warning"))
        mark, what = (Mark.FAILED, "refused") if event.errors else (Mark.DONE, "accepted")
        attempt = f"attempt {self._attempt_of(PLAN, event.attempt)}"
        yield Line(mark, ", ".join(counts), PLAN, what, attempt)
        yield from item_lines(event.findings, self._limit(_MAX_FINDINGS))

    def _tell_second_look(self, event: PlanRepaired | PlanReviewed) -> Iterator[Line]:
        match event:
            case PlanRepaired(_, fixes):
                text = f"{count(len(fixes), 'fault')} with one certain remedy, no model asked"
                yield Line(Mark.STEP, text, PLAN, "repaired")
                yield from item_lines(fixes, self._limit(_MAX_FINDINGS))
            case PlanReviewed(number, claims, dismissed, failure):
                aside = f"round {number}"
                if failure:
                    yield Line(Mark.WARNED, f"not to be used: {failure}", PLAN, "review", aside)
                    return
                text = f"{count(len(claims), 'claim')} to answer" if claims else "no objection"
                text += f", {dismissed} without proof left out" if dismissed else ""
                yield Line(Mark.RETRY if claims else Mark.DONE, text, PLAN, "review", aside)
                yield from item_lines(claims, self._limit(_MAX_FINDINGS))

    def _tell_plan_end(self, event: PlanEnded) -> Iterator[Line]:
        attempts = count(event.attempts, "attempt")
        if event.ok:
            orders = count(len(event.titles), "order")
            yield Line(Mark.DONE, orders, PLAN, "PASS", attempts, Weight.VERDICT)
            yield from item_lines(event.titles, self._limit(_MAX_TITLES))
            yield Line(Mark.ITEM, f"plan: {event.output_dir}")
        else:
            yield Line(Mark.FAILED, "no valid plan", PLAN, "FAIL", attempts, Weight.VERDICT)
            yield Line(Mark.ITEM, f"records: {event.run_dir}")

    # Factory

    def _tell_start(
        self, event: OrderStarted | AttemptStarted | StageStarted | OrderSkipped
    ) -> Iterator[Line]:
        match event:
            case OrderStarted(order, title, branch, baseline, max_attempts):
                self._max_attempts[order] = max_attempts
                where = short(baseline) if self._in_batch else f"{branch} from {short(baseline)}"
                yield Line(Mark.HEAD, title, order, "order", where)
            case AttemptStarted(order, attempt):
                text = self._attempt_of(order, attempt)
                yield Line(Mark.STEP, text, order, "attempt", weight=Weight.PASSING)
            case StageStarted(order, _, stage):
                yield Line(Mark.STEP, "begins", order, stage, weight=Weight.VERBOSE)
            case OrderSkipped(order, title, commit):
                text = f"landed before as {short(commit)}: {title}"
                yield Line(Mark.SKIPPED, text, order, "skipped")

    def _tell_attempt(
        self, event: WritesApplied | CommandStarted | CommandEnded | AttemptFailed
    ) -> Iterator[Line]:
        match event:
            case WritesApplied(order, _, files, summary):
                aside = shorten(summary, _MAX_SUMMARY)
                yield Line(Mark.DONE, self._files(files), order, "apply", aside)
            case CommandStarted(order, purpose, command):
                text = f"$ {self._command(command)}"
                yield Line(Mark.STEP, text, order, purpose, weight=Weight.PASSING)
            case CommandEnded(order, purpose, command, exit_code, seconds, note):
                passed = exit_code == 0 or bool(note)
                ended = f": exit {exit_code}{f', {note}' if note else ''}" if exit_code else ""
                text = f"{self._command(command, _MAX_REPEATED)}{ended}"
                mark = Mark.DONE if passed else Mark.FAILED
                yield Line(mark, text, order, purpose, duration(seconds))
            case AttemptFailed():
                self._failures[event.order] = event
                yield from self._tell_failure(event)

    def _tell_failure(self, event: AttemptFailed) -> Iterator[Line]:
        attempt = f"attempt {self._attempt_of(event.order, event.attempt)}"
        yield Line(Mark.FAILED, self._why(event), event.order, "failed", attempt)
        yield from excerpt_lines(event.excerpt, whole=self._verbose)
        yield Line(Mark.NEXT, event.next_step)

    def _tell_order_end(self, event: OrderEnded) -> Iterator[Line]:
        passed = event.verdict == "PASS"
        text = self._became(event)
        if self._in_batch and not passed:
            self._batch_failure = f"; {event.order} {text}"
        yield Line(
            Mark.DONE if passed else Mark.FAILED,
            text,
            event.order,
            event.verdict,
            f"{count(event.attempts, 'attempt')}, {duration(event.seconds)}",
            Weight.NORMAL if self._in_batch else Weight.VERDICT,
        )
        if not self._in_batch:
            yield from self._where_to_look(event)

    def _became(self, event: OrderEnded) -> str:
        failure = self._failures.pop(event.order, None)
        if event.verdict == "PASS":
            return f"{short(event.commit)} {self._files(event.files)}"
        if event.verdict == "FAIL" and failure:
            return self._why(failure)
        return "ended by an error, nothing was committed"

    def _tell_batch(self, event: BatchStarted | BatchEnded) -> Iterator[Line]:
        match event:
            case BatchStarted(orders, branch, base):
                self._whole, self._batch_failure = BATCH, ""
                text = f"{count(orders, 'order')} on {branch}"
                yield Line(Mark.HEAD, text, BATCH, "start", f"from {short(base)}")
            case BatchEnded():
                self._whole = ""
                yield from self._tell_batch_end(event)

    def _tell_batch_end(self, event: BatchEnded) -> Iterator[Line]:
        passed = event.verdict == "PASS"
        text = f"{event.landed} of {count(event.orders, 'order')} on {event.branch}"
        if event.landed:
            text += f" at {short(event.tip)}"
        yield Line(
            Mark.DONE if passed else Mark.FAILED,
            text + self._batch_failure,
            BATCH,
            event.verdict,
            duration(event.seconds),
            Weight.VERDICT,
        )
        if not passed:
            yield Line(Mark.NEXT, "the same command again goes on where this one stopped")
        yield from self._where_to_look(event)

    # Parts of lines

    def _where_to_look(self, event: OrderEnded | BatchEnded) -> Iterator[Line]:
        if event.run_dir:
            yield Line(Mark.ITEM, f"records: {event.run_dir}")
        landed = event.commit if isinstance(event, OrderEnded) else event.landed
        if landed:
            yield from look_lines(event.branch, event.repo, self._cwd)

    def _limit(self, limit: int) -> int | None:
        return None if self._verbose else limit

    def _attempt_of(self, who: str, attempt: int) -> str:
        limit = self._max_attempts.get(who)
        return f"{attempt} of {limit}" if limit and attempt <= limit else str(attempt)

    def _why(self, failure: AttemptFailed) -> str:
        if not failure.command:
            return failure.stage
        ended = "" if failure.exit_code is None else f": exit {failure.exit_code}"
        return f"{failure.stage}: {self._command(failure.command, _MAX_REPEATED)}{ended}"

    def _command(self, command: str, limit: int = _MAX_COMMAND) -> str:
        return command if self._verbose else shorten(command, limit)

    def _files(self, files: tuple[str, ...]) -> str:
        return listed(files, len(files) if self._verbose else _MAX_FILES)


def _reply(event: ModelCallEnded) -> str:
    if not (event.input_tokens or event.output_tokens):  # as with an authored reply
        return event.model
    return f"{event.model}: {event.input_tokens:,} tokens in, {event.output_tokens:,} out"


def _thought_lines(thoughts: list[str]) -> Iterator[Line]:
    return (Line(Mark.QUOTE, thought, weight=Weight.VERBOSE) for thought in thoughts)
