"""Turns events into lines, by pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from llmch.console.line import (
    BATCH,
    MODEL,
    PLAN,
    Line,
    Mark,
    Weight,
    cost,
    count,
    duration,
    estimated,
    fetch_lines,
    lines_of_excerpt,
    listed,
    look_lines,
    on_texts,
    own_line,
    short,
    shorten,
)
from llmch.console.model_reply import Reasoning
from shared.events.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptStarted,
    BatchEnded,
    BatchStarted,
    BudgetCommitted,
    CandidateCoupled,
    CandidateDropped,
    Channel,
    CommandEnded,
    CommandFlagged,
    CommandStarted,
    CommandTried,
    Event,
    ModelAskedAgain,
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


def item_lines(items: Sequence[str], limit: int | None) -> Iterator[Line]:
    """Yield a line for each item; the items beyond `limit` are only counted."""
    shown = items[:limit]
    yield from (Line(Mark.ITEM, text) for text in shown)
    if len(shown) < len(items):
        yield Line(Mark.ITEM, f"and {len(items) - len(shown):,} more (--verbose shows all)")


def usage_text(event: UsageCounted) -> str:
    """Return a text that says what the calls took."""
    parts = []
    if event.calls:
        cached = f" ({event.cached_tokens:,} cached)" if event.cached_tokens else ""
        tokens = f"{event.input_tokens:,} tokens in{cached}, {event.output_tokens:,} out"
        parts += [count(event.calls, "call"), tokens, cost(event.cost_usd)]
    if event.estimated_calls:
        parts.append(estimated(event.estimated_calls))
    if event.replayed_calls:
        parts.append(f"{count(event.replayed_calls, 'reply', 'replies')} replayed")
    return ", ".join(parts) or "no model calls"


@dataclass(slots=True)
class WholeWork:
    """Name the plan or the batch that is under way; the name is empty if an order runs alone."""

    name: str = ""

    @property
    def in_batch(self) -> bool:
        return self.name == BATCH


CallEvent = (
    ModelCallStarted
    | ModelCallEnded
    | ModelRetryScheduled
    | ModelTextArrived
    | BudgetCommitted
    | UsageCounted
)


class CallNarrator:
    """Turn the events of model calls into lines.

    The pieces of a model's text pass through `protect` once they are whole lines.
    """

    def __init__(self, whole: WholeWork, protect: Callable[[str], str], *, verbose: bool) -> None:
        self._whole = whole
        self._verbose = verbose
        self._thoughts: defaultdict[str, Reasoning] = defaultdict(lambda: Reasoning(protect))

    def lines(self, event: CallEvent) -> Iterator[Line]:
        match event:
            case ModelCallStarted(place, model, order):
                self._thoughts[order or PLAN].end()
                weight = Weight.VERBOSE if _is_turn(place) else Weight.PASSING
                yield Line(Mark.STEP, model, order or PLAN, "ask", weight=weight)
            case ModelCallEnded():
                yield from _thought_lines(self._thoughts[event.order or PLAN].end())
                aside = "replayed" if event.replayed else duration(event.seconds)
                weight = Weight.PASSING if _is_turn(event.place) else Weight.NORMAL
                who = event.order or PLAN
                yield Line(Mark.STEP, _reply(event), who, "reply", aside, weight=weight)
            case ModelRetryScheduled(reason, wait, retry, order):
                text = f"{reason}; trying again in {duration(wait)}"
                yield Line(Mark.RETRY, text, order or MODEL, "wait", f"retry {retry}")
            case ModelTextArrived():
                yield from self._text(event)
            case BudgetCommitted(tokens, cost):
                price = "" if cost is None else f", ${cost:.4f}"
                text = f"{tokens:,} tokens{price} are spent or may be by the calls under way"
                who = self._whole.name or MODEL
                yield Line(Mark.STEP, text, who, "budget", weight=Weight.VERBOSE)
            case UsageCounted():
                yield self._usage(event)

    def _usage(self, event: UsageCounted) -> Line:
        # In a batch, the sum at the end is enough.
        weight = Weight.VERBOSE if event.order and self._whole.in_batch else Weight.NORMAL
        who = event.order or self._whole.name or MODEL
        return Line(Mark.STEP, usage_text(event), who, "usage", weight=weight)

    def _text(self, event: ModelTextArrived) -> Iterator[Line]:
        """Yield a model's reasoning by whole lines; its reply is JSON, and the record has it."""
        if event.channel == Channel.REASONING and self._verbose:
            yield from _thought_lines(self._thoughts[event.order or PLAN].add(event.text))


def _is_turn(place: str) -> bool:
    """Return whether a call is one of several in an attempt, which has a line of its own."""
    return " turn " in place


def _reply(event: ModelCallEnded) -> str:
    if not (event.input_tokens or event.output_tokens):  # an authored reply has no token counts
        return event.model
    return f"{event.model}: {_tokens(event)}"


def _tokens(event: ModelCallEnded | AgentActed) -> str:
    return f"{event.input_tokens:,} tokens in, {event.output_tokens:,} out"


def _thought_lines(thoughts: list[str]) -> Iterator[Line]:
    return (Line(Mark.QUOTE, thought, weight=Weight.VERBOSE) for thought in thoughts)


MAX_REPEATED = 100  # characters of a command that an earlier line showed in full
_MAX_COMMAND = 300  # characters; the records have the whole command
_MAX_FILES = 6


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Cut texts and lists to a length that a person reads; with `verbose`, cut nothing."""

    verbose: bool

    def limit(self, most: int) -> int | None:
        """Return how many items of a list are shown; `None` for all of them."""
        return None if self.verbose else most

    def command(self, command: str, most: int = _MAX_COMMAND) -> str:
        return command if self.verbose else shorten(command, most)

    def files(self, files: tuple[str, ...]) -> str:
        return listed(files, len(files) if self.verbose else _MAX_FILES)


def attempt_text(attempt: int, most: int) -> str:
    """Return `2 of 5`; the number alone where the limit is unknown or was passed."""
    return f"{attempt} of {most}" if attempt <= most else str(attempt)


_CommandEvent = CommandStarted | CommandEnded | CommandTried | CommandFlagged
_AttemptEvent = AttemptStarted | StageStarted | ModelAskedAgain | WritesApplied | AttemptFailed
_AgentEvent = AgentStarted | AgentActed | AgentEnded
_TrainEvent = CandidateCoupled | CandidateDropped
_WholeEvent = OrderStarted | OrderSkipped | OrderEnded | BatchStarted | BatchEnded
OrderEvent = _CommandEvent | _AttemptEvent | _AgentEvent | _TrainEvent | _WholeEvent

_MAX_SUMMARY = 160
_DOUBTS = {
    "blocks refused": "parts of the reply do not fit the files",
    "more wanted": "the reply asks to see more of a file",
}
_MAX_FACTS = 3


class OrderNarrator:
    """Turn the events of execution into lines.

    A command that is shown to be copied does not name the folder `cwd`.
    """

    def __init__(self, whole: WholeWork, measure: TextLimits, cwd: str) -> None:
        self._whole = whole
        self._measure = measure
        self._cwd = cwd
        self._max_attempts: dict[str, int] = {}
        self._failures: dict[str, AttemptFailed] = {}
        self._batch_failures: list[str] = []

    def lines(self, event: OrderEvent) -> Iterator[Line]:
        match event:
            case CommandStarted() | CommandEnded() | CommandTried() | CommandFlagged():
                yield self._command(event)
            case AgentStarted() | AgentActed() | AgentEnded():
                yield from self._agent(event)
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
                self._whole.name, self._batch_failures = BATCH, []
                text = f"{count(orders, 'order')} on {branch}"
                yield Line(Mark.HEAD, text, BATCH, "start", f"from {short(base)}")
            case BatchEnded():
                self._whole.name = ""
                yield from self._batch_ended(event)
            case _:
                yield from self._attempt(event)

    def _command(self, event: _CommandEvent) -> Line:
        repeated = self._measure.command(event.command, MAX_REPEATED)
        match event:
            case CommandStarted(order, purpose, command):
                text = f"$ {self._measure.command(command)}"
                return Line(Mark.STEP, text, order, purpose, weight=Weight.PASSING)
            case CommandEnded(order, purpose, _, exit_code, seconds, note):
                passed = exit_code == 0 or bool(note)
                said = (f"exit {exit_code}" if exit_code else "", note)
                ended = f": {', '.join(filter(None, said))}" if any(said) else ""
                mark = Mark.DONE if passed else Mark.FAILED
                return Line(mark, f"{repeated}{ended}", order, purpose, duration(seconds))
            case CommandTried(order, tree, _, exit_code, seconds):
                text, aside = f"{repeated}: exit {exit_code}", duration(seconds)
                return Line(Mark.STEP, text, order, tree, aside, weight=Weight.VERBOSE)
            case CommandFlagged(order, code, _, message):
                return Line(Mark.WARNED, f"`{repeated}` {message}", order, code)

    def _agent(self, event: _AgentEvent) -> Iterator[Line]:
        match event:
            case AgentEnded(order, _, ended, calls, seconds, files, dropped):
                text = f"it {ended} after {count(calls, 'call')}"
                text += f"; proposes {self._measure.files(files)}" if files else ""
                mark = Mark.DONE if files else Mark.FAILED
                yield Line(mark, text, order, "agent", duration(seconds))
                if dropped:
                    text = f"{self._measure.files(dropped)}: dropped"
                    yield Line(Mark.WARNED, text, order, "agent")
            case AgentStarted(agent=agent):
                text = f"{agent} works in a workspace"
                yield Line(Mark.STEP, text, event.order, "agent", weight=Weight.PASSING)
            case AgentActed(turn=turn):  # its calls have lines of their own
                text = f"{count(turn, 'call')}: {_tokens(event)}"
                yield Line(Mark.STEP, text, event.order, "agent", weight=Weight.VERBOSE)

    def _attempt(self, event: _AttemptEvent) -> Iterator[Line]:
        match event:
            case AttemptStarted(order, attempt):
                text = self._attempt_of(order, attempt)
                yield Line(Mark.STEP, text, order, "attempt", weight=Weight.PASSING)
            case StageStarted(order, _, stage):
                yield Line(Mark.STEP, "begins", order, stage, weight=Weight.VERBOSE)
            case ModelAskedAgain(order, _, reason, note):
                said = _DOUBTS.get(reason, f"the reply is {reason}")
                text = f"{said}; the model is asked again"
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
                quoted = lines_of_excerpt(event.excerpt, whole=self._measure.verbose)
                yield from (Line(Mark.QUOTE, text) for text in quoted)
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
            self._batch_failures.append(f"{event.order} {text}")
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
        if self._batch_failures:
            first, *others = self._batch_failures
            text += f"; {first}" + (f", and {len(others)} more failed" if others else "")
        yield Line(
            Mark.DONE if passed else Mark.FAILED,
            text,
            BATCH,
            event.verdict,
            duration(event.seconds),
            Weight.VERDICT,
        )
        yield from self._where_to_look(event)

    def _where_to_look(self, event: OrderEnded | BatchEnded) -> Iterator[Line]:
        remote = event.remote if isinstance(event, BatchEnded) else ""
        if event.next_step:
            yield Line(Mark.NEXT, event.next_step)
        if event.run_dir:
            yield Line(Mark.ITEM, f"records: {event.run_dir}")
        if event.run_dir and not remote:
            yield own_line("report --html report.html", event.repo, self._cwd)
        landed = event.commit if isinstance(event, OrderEnded) else event.landed
        if landed and remote:
            yield from fetch_lines(event.branch, remote)
        elif landed:
            done = event.verdict == "PASS"
            yield from look_lines(event.branch, event.repo, self._cwd, done=done)

    def _attempt_of(self, order: str, attempt: int) -> str:
        return attempt_text(attempt, self._max_attempts.get(order, 0))

    def _why(self, failure: AttemptFailed) -> str:
        if not failure.command:
            return failure.stage
        ended = "" if failure.exit_code is None else f": exit {failure.exit_code}"
        return f"{failure.stage}: {self._measure.command(failure.command, MAX_REPEATED)}{ended}"


PlanEvent = PlanStarted | PlanAttemptStarted | PlanJudged | PlanRepaired | PlanReviewed | PlanEnded

_MAX_FINDINGS = 12


class PlanNarrator:
    """Turn the events of planning into lines."""

    def __init__(self, whole: WholeWork, measure: TextLimits) -> None:
        self._whole = whole
        self._measure = measure
        self._max_attempts = 0

    def lines(self, event: PlanEvent) -> Iterator[Line]:
        match event:
            case PlanStarted(spec, run_id, max_attempts):
                self._whole.name, self._max_attempts = PLAN, max_attempts
                yield Line(Mark.HEAD, spec, PLAN, "spec", f"run {run_id}")
            case PlanAttemptStarted(attempt, stage, calls):
                text = attempt_text(attempt, self._max_attempts)
                text += f", {stage}" if stage else ""
                text += f", {calls} calls" if calls > 1 else ""
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
        what = f"{event.stage} {what}".lstrip()
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


class Narrator:
    """Turn events, in the order they happen, into lines.

    A command that is shown to be copied does not name the folder `cwd`. `protect` makes a text
    fit to be shown: an event's texts when the event passes through `fit`, and the pieces of a
    model's text once they are whole lines.
    """

    def __init__(self, *, verbose: bool, cwd: str, protect: Callable[[str], str]) -> None:
        self._protect = protect
        whole, measure = WholeWork(), TextLimits(verbose)
        self._calls = CallNarrator(whole, protect, verbose=verbose)
        self._plan = PlanNarrator(whole, measure)
        self._orders = OrderNarrator(whole, measure, cwd)

    def fit(self, event: Event) -> Event:
        """Return the event with its texts fit to be shown.

        A piece of a model's text is returned unchanged: it may end within an escape sequence.
        """
        if isinstance(event, ModelTextArrived):
            return event
        shown: Event = on_texts(event, self._protect)
        return shown

    def lines(self, event: Event) -> Iterator[Line]:
        if isinstance(event, CallEvent):
            yield from self._calls.lines(event)
        elif isinstance(event, PlanEvent):
            yield from self._plan.lines(event)
        elif isinstance(event, OrderEvent):
            yield from self._orders.lines(event)
        elif isinstance(event, Warned):
            yield Line(Mark.WARNED, event.message, "warning")
        elif isinstance(event, Noted):
            weight = Weight.VERBOSE if event.detail else Weight.NORMAL
            yield Line(Mark.STEP, event.message, "note", weight=weight)
        else:
            yield Line(Mark.STEP, repr(event), event.kind, weight=Weight.VERBOSE)
