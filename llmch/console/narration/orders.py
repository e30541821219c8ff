"""Turns the events of orders, run alone or in a batch, into lines. The module does no I/O."""

from __future__ import annotations

from collections.abc import Iterator

from llmch.console.clean import shorten
from llmch.console.figures import count, duration, short
from llmch.console.line import Line, Mark, Weight
from llmch.console.narration.details import (
    excerpt_lines,
    fetch_lines,
    look_lines,
    report_line,
)
from llmch.console.narration.measure import MAX_REPEATED, Measure, attempt_text
from llmch.console.narration.whole import BATCH, Whole
from shared.events.attempts import (
    AttemptFailed,
    AttemptStarted,
    ModelAskedAgain,
    StageStarted,
    WritesApplied,
)
from shared.events.order_commands import CommandEnded, CommandFlagged, CommandStarted, CommandTried
from shared.events.orders import (
    BatchEnded,
    BatchStarted,
    CandidateCoupled,
    CandidateDropped,
    OrderEnded,
    OrderSkipped,
    OrderStarted,
)

_CommandEvent = CommandStarted | CommandEnded | CommandTried | CommandFlagged
_AttemptEvent = AttemptStarted | StageStarted | ModelAskedAgain | WritesApplied | AttemptFailed
_TrainEvent = CandidateCoupled | CandidateDropped
_WholeEvent = OrderStarted | OrderSkipped | OrderEnded | BatchStarted | BatchEnded
OrderEvent = _CommandEvent | _AttemptEvent | _TrainEvent | _WholeEvent

_MAX_SUMMARY = 160
_MAX_FACTS = 3


class OrderNarrator:
    """Turn the events of execution into lines.

    A command that is shown to be copied does not name the folder `cwd`.
    """

    def __init__(self, whole: Whole, measure: Measure, cwd: str) -> None:
        self._whole = whole
        self._measure = measure
        self._cwd = cwd
        self._max_attempts: dict[str, int] = {}
        self._failures: dict[str, AttemptFailed] = {}
        self._batch_failure = ""

    def lines(self, event: OrderEvent) -> Iterator[Line]:
        """Return the lines that describe the event."""
        match event:
            case CommandStarted() | CommandEnded() | CommandTried() | CommandFlagged():
                yield self._command(event)
            case (
                AttemptStarted()
                | StageStarted()
                | ModelAskedAgain()
                | WritesApplied()
                | AttemptFailed()
            ):
                yield from self._attempt(event)
            case OrderStarted(order, title, branch, baseline, max_attempts):
                self._max_attempts[order] = max_attempts
                base = short(baseline)
                where = base if self._whole.in_batch else f"{branch} from {base}"
                yield Line(Mark.HEAD, title, order, "order", where)
            case OrderSkipped(order, title, commit):
                text = f"already landed as {short(commit)}: {title}"
                yield Line(Mark.SKIPPED, text, order, "skipped")
            case CandidateCoupled() | CandidateDropped():
                yield from self._train(event)
            case OrderEnded():
                yield from self._order_ended(event)
            case BatchStarted(orders, branch, base):
                self._whole.name, self._batch_failure = BATCH, ""
                text = f"{count(orders, 'order')} on {branch}"
                yield Line(Mark.HEAD, text, BATCH, "start", f"from {short(base)}")
            case BatchEnded():
                self._whole.name = ""
                yield from self._batch_ended(event)

    def _command(self, event: _CommandEvent) -> Line:
        repeated = self._measure.command(event.command, MAX_REPEATED)
        match event:
            case CommandStarted(order, purpose, command):
                text = f"$ {self._measure.command(command)}"
                return Line(Mark.STEP, text, order, purpose, weight=Weight.PASSING)
            case CommandEnded(order, purpose, _, exit_code, seconds, note):
                passed = exit_code == 0 or bool(note)
                ended = f": exit {exit_code}{f', {note}' if note else ''}" if exit_code else ""
                mark = Mark.DONE if passed else Mark.FAILED
                return Line(mark, f"{repeated}{ended}", order, purpose, duration(seconds))
            case CommandTried(order, tree, _, exit_code, seconds):
                text, aside = f"{repeated}: exit {exit_code}", duration(seconds)
                return Line(Mark.STEP, text, order, tree, aside, weight=Weight.VERBOSE)
            case CommandFlagged(order, code, _, message):
                return Line(Mark.WARNED, f"`{repeated}` {message}", order, code)

    def _attempt(self, event: _AttemptEvent) -> Iterator[Line]:
        match event:
            case AttemptStarted(order, attempt):
                text = self._attempt_of(order, attempt)
                yield Line(Mark.STEP, text, order, "attempt", weight=Weight.PASSING)
            case StageStarted(order, _, stage):
                yield Line(Mark.STEP, "begins", order, stage, weight=Weight.VERBOSE)
            case ModelAskedAgain(order, _, reason, note):
                text = f"the reply is {reason}; the model is asked again"
                yield Line(Mark.WARNED, text, order, "propose", shorten(note, _MAX_SUMMARY))
            case WritesApplied(order, _, files, summary, removed):
                parts = [self._measure.files(files)] if files else []
                parts += [f"removed {self._measure.files(removed)}"] if removed else []
                # The harness's own summary repeats what it removed.
                aside = shorten(summary, _MAX_SUMMARY) if files else ""
                yield Line(Mark.DONE, "; ".join(parts), order, "apply", aside)
            case AttemptFailed(order, attempt):
                self._failures[order] = event
                aside = f"attempt {self._attempt_of(order, attempt)}"
                yield Line(Mark.FAILED, self._why(event), order, "failed", aside)
                yield from excerpt_lines(event.excerpt, whole=self._measure.verbose)
                yield from (Line(Mark.ITEM, fact) for fact in event.facts[-_MAX_FACTS:])
                yield Line(Mark.NEXT, event.next_step)

    def _train(self, event: _TrainEvent) -> Iterator[Line]:
        match event:
            case CandidateCoupled(order, commit, parent, ahead) if ahead:
                more = f" (and {len(ahead) - 1} more)" if len(ahead) > 1 else ""
                text = f"{short(commit)} is judged before {ahead[-1]}{more} has landed"
                aside = f"on {short(parent)}"
                yield Line(Mark.STEP, text, order, "train", aside, weight=Weight.VERBOSE)
            case CandidateDropped(order, because):
                self._failures.pop(order, None)
                text = f"is judged again, because the commit of {because} is another one now"
                yield Line(Mark.STEP, text, order, "train")
            case _:
                pass

    def _order_ended(self, event: OrderEnded) -> Iterator[Line]:
        passed, in_batch = event.verdict == "PASS", self._whole.in_batch
        text = self._result_text(event)
        if in_batch and not passed:
            self._batch_failure = f"; {event.order} {text}"
        yield Line(
            Mark.DONE if passed else Mark.FAILED,
            text,
            event.order,
            event.verdict,
            f"{count(event.attempts, 'attempt')}, {duration(event.seconds)}",
            Weight.NORMAL if in_batch else Weight.VERDICT,
        )
        if event.proof:
            yield Line(Mark.ITEM, self._measure.command(event.proof))
        if not in_batch:
            yield from self._where_to_look(event)

    def _result_text(self, event: OrderEnded) -> str:
        failure = self._failures.pop(event.order, None)
        if event.verdict == "PASS":
            return f"{short(event.commit)} {self._measure.files(event.files)}"
        if event.verdict == "FAIL" and failure:
            return self._why(failure)
        return "ended by an error; nothing was committed"

    def _batch_ended(self, event: BatchEnded) -> Iterator[Line]:
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
        if event.next_step:
            yield Line(Mark.NEXT, event.next_step)
        yield from self._where_to_look(event)

    def _where_to_look(self, event: OrderEnded | BatchEnded) -> Iterator[Line]:
        if event.run_dir:
            yield Line(Mark.ITEM, f"records: {event.run_dir}")
        if event.run_dir and isinstance(event, BatchEnded) and not event.remote:
            yield report_line(event.repo, self._cwd)
        landed = event.commit if isinstance(event, OrderEnded) else event.landed
        if landed and isinstance(event, BatchEnded) and event.remote:
            yield from fetch_lines(event.branch, event.remote)
        elif landed:
            yield from look_lines(event.branch, event.repo, self._cwd)

    def _attempt_of(self, order: str, attempt: int) -> str:
        return attempt_text(attempt, self._max_attempts.get(order, 0))

    def _why(self, failure: AttemptFailed) -> str:
        if not failure.command:
            return failure.stage
        ended = "" if failure.exit_code is None else f": exit {failure.exit_code}"
        return f"{failure.stage}: {self._measure.command(failure.command, MAX_REPEATED)}{ended}"
