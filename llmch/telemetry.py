"""Draws a command as a trace of OpenTelemetry, if the user asks for it.

A span is named by a key: what it is about. One that begins is the child of the closest thing that
is under way for the same order, so the orders of a run may come in any sequence.

Without an SDK in the process, which is the person's to choose, the API does nothing.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared import VERSION
from shared.events import events

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span


Value = str | int | float | bool
Attributes = Mapping[str, Value]
Key = tuple[str, ...]

COMMAND: Key = ()
"""The span of the whole command, of which all others are descendants."""
_BATCH: Key = ("batch",)
_PLAN: Key = ("plan",)
CUT_OFF = "cut off"
_MOST_REPLY = 100_000  # characters


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin a span below another one; `is_call` says that it is a request to another program."""

    key: Key
    parent: Key
    name: str
    attributes: Attributes
    is_call: bool = False


@dataclass(frozen=True, slots=True)
class Describe:
    """Add attributes to a span."""

    key: Key
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Note:
    """Add a moment to a span."""

    key: Key
    name: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class End:
    """End a span; `error` says in a word what went wrong, and is empty if nothing did."""

    key: Key
    error: str = ""


Operation = Begin | Describe | Note | End
Operations = Iterator[Operation]


@dataclass(slots=True)
class Spans:
    """Follow the events of a command. With `content`, texts of models become attributes, too."""

    content: bool
    _open: dict[Key, Key] = field(default_factory=dict)
    """The spans that have begun and not ended, each with its parent, oldest first."""
    _replies: defaultdict[str, str] = field(default_factory=lambda: defaultdict(str))

    def follow(self, event: events.Event) -> Operations:
        match event:
            case events.PlanStarted():
                yield from self._begin(_PLAN, "plan", {"llmch.run_id": event.run_id})
            case events.PlanAttemptStarted(attempt):
                yield from self._end(("plan", "attempt"))
                attributes = {"llmch.attempt": attempt}
                yield from self._begin(("plan", "attempt"), f"plan attempt {attempt}", attributes)
            case events.PlanJudged():
                found: dict[str, Value] = {
                    "llmch.errors": event.errors,
                    "llmch.warnings": event.warnings,
                }
                if self.content:
                    found["llmch.findings"] = "\n".join(event.findings)
                yield from self._end(("plan", "attempt"), "refused" if event.errors else "", found)
            case events.PlanEnded(ok=ok):
                orders = {"llmch.orders": len(event.titles), "llmch.attempts": event.attempts}
                yield from self._end(_PLAN, "" if ok else "no valid plan", orders)
            case events.BatchStarted():
                about: dict[str, Value] = {"llmch.orders": event.orders}
                about["llmch.branch"] = event.branch
                yield from self._begin(_BATCH, "run-all", about)
            case events.BatchEnded(verdict=verdict):
                about = {"llmch.verdict": verdict, "llmch.landed": event.landed}
                yield from self._end(_BATCH, "" if verdict == "PASS" else verdict, about)
            case _:
                yield from self._of_order(event)

    def close(self, error: str) -> Operations:
        """Yield the ends of all spans that are open, the command's last, with its error if any."""
        for key in reversed([*self._open]):
            yield End(key, error or CUT_OFF)
        self._open.clear()
        yield End(COMMAND, error)

    def _of_order(self, event: events.Event) -> Operations:
        match event:
            case events.OrderStarted(order=order):
                about: dict[str, Value] = {"llmch.order": order, "llmch.branch": event.branch}
                if self.content:
                    about["llmch.title"] = event.title
                # An order that failed beside others may be made again on what has landed since.
                yield from self._end(("order", order), "", {"llmch.verdict": "AGAIN"})
                yield from self._begin(("order", order), f"order {order}", about)
            case events.OrderSkipped(order=order, commit=commit):
                about = {"llmch.order": order, "llmch.commit": commit}
                yield Note(self._closest("order", order), "skipped", about)
            case events.OrderEnded(order=order, verdict=verdict):
                if event.commit:
                    landed = {"llmch.commit": event.commit, "llmch.branch": event.branch}
                    yield Note(self._closest("order", order), "landed", landed)
                about = {"llmch.verdict": verdict, "llmch.attempts": event.attempts}
                # The last stage of an order has no end of its own.
                error = "" if verdict == "PASS" else verdict
                yield from self._end(("order", order), error, about)
            case events.CandidateDropped(order=order, because=because):
                yield from self._end(("order", order, "attempt"), "dropped")
                yield Note(self._closest("order", order), "dropped", {"llmch.because": because})
            case events.AttemptStarted(order, attempt):
                # An attempt that was not reported as failed goes on elsewhere, or again.
                yield from self._end(("order", order, "attempt"))
                about = {"llmch.order": order, "llmch.attempt": attempt}
                yield from self._begin(("order", order, "attempt"), f"attempt {attempt}", about)
            case events.AttemptFailed(order=order, stage=stage):
                failed = {"llmch.excerpt": event.excerpt} if self.content else {}
                yield from self._end(("order", order, "attempt"), stage, failed)
            case events.StageStarted(order, attempt, stage):
                yield from self._end(("order", order, "attempt", "stage"))
                about = {"llmch.order": order, "llmch.attempt": attempt, "llmch.stage": stage}
                yield from self._begin(("order", order, "attempt", "stage"), stage, about)
            case events.WritesApplied(order=order, files=files):
                count = {"llmch.files": len(files)}
                yield Note(self._closest("order", order, "attempt", "stage"), "applied", count)
            case events.ModelAskedAgain(order=order, reason=reason):
                about = {"llmch.reason": reason}
                yield Note(self._closest("order", order, "attempt", "stage"), "asked again", about)
            case events.AgentStarted() | events.AgentEnded():
                yield from self._of_agent(event)
            case events.CommandTried(order=order, tree=tree, exit_code=code):
                about = {"llmch.tree": tree, "process.exit.code": code}
                yield Note(self._closest("order", order, "attempt"), "command tried", about)
            case events.CommandStarted(order, purpose, command):
                about = {"llmch.order": order, "llmch.purpose": purpose}
                if self.content:
                    about["process.command_line"] = command
                yield from self._begin(_command(order, command), f"{purpose} command", about)
            case events.CommandEnded(order=order, command=command, exit_code=code):
                error = "" if code == 0 or event.note else "exit code"
                yield from self._end(_command(order, command), error, {"process.exit.code": code})
            case _:
                yield from self._of_call(event)

    def _of_agent(self, event: events.AgentStarted | events.AgentEnded) -> Operations:
        order = event.order
        if isinstance(event, events.AgentStarted):
            yield from self._end(_call(order))  # the call that the agent's work is recorded as
            about: dict[str, Value] = {"llmch.agent": event.agent}
            yield from self._begin(_agent(order), f"agent {event.agent}", about)
            return
        about = {"llmch.calls": event.calls, "llmch.files": len(event.files)}
        about |= {"llmch.dropped": len(event.dropped), "llmch.ended": event.ended}
        yield from self._end(_agent(order), "" if event.files else "nothing proposed", about)

    def _of_call(self, event: events.Event) -> Operations:
        match event:
            case events.ModelCallStarted(place, model, order):
                key = _call(order)
                yield from self._end(key, CUT_OFF)
                self._replies.pop(order, None)
                about: dict[str, Value] = {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": "openai",  # whose protocol it is
                    "gen_ai.request.model": model,
                    "llmch.place": place,
                }
                yield from self._begin(key, f"chat {model}", about, is_call=True)
            case events.ModelTextArrived(channel, text, order):
                if self.content and channel is events.Channel.TEXT:
                    kept = self._replies[order or ""]
                    self._replies[order or ""] = (kept + text)[:_MOST_REPLY]
            case events.ModelRetryScheduled(reason, wait, retry, order):
                about = {"llmch.retry": retry, "llmch.wait_seconds": wait}
                if self.content:
                    about["llmch.reason"] = reason
                yield Note(self._closest(*_call(order or "")), "retry", about)
            case events.ModelCallEnded(order=order):
                about = {
                    "gen_ai.response.model": event.model,
                    "gen_ai.usage.input_tokens": event.input_tokens,
                    "gen_ai.usage.output_tokens": event.output_tokens,
                    "llmch.replayed": event.replayed,
                }
                if reply := self._replies.pop(order, ""):
                    about["gen_ai.output.messages"] = _messages(reply)
                yield from self._end(_call(order), "", about)
            case events.UsageCounted(order=order):
                about = {"llmch.calls": event.calls, "llmch.replayed_calls": event.replayed_calls}
                if event.cost_usd is not None:
                    about["llmch.cost_usd"] = event.cost_usd
                yield Describe(self._closest("order", order) if order else self._whole(), about)
            case _:
                pass

    def _begin(
        self, key: Key, name: str, attributes: Attributes, *, is_call: bool = False
    ) -> Operations:
        if key in self._open:
            yield from self._end(key, CUT_OFF)
        parent = self._closest(*key[:-1])
        self._open[key] = parent
        yield Begin(key, parent, name, attributes, is_call)

    def _whole(self) -> Key:
        """Return the span of all that is under way: a plan, or the orders of one."""
        return next((each for each in (_PLAN, _BATCH) if each in self._open), COMMAND)

    def _closest(self, *key: str) -> Key:
        """Return the span of a key, else the closest one around it that is open."""
        for length in range(len(key), 0, -1):
            if key[:length] in self._open:
                return key[:length]
        return _BATCH if key[:1] == ("order",) and _BATCH in self._open else COMMAND

    def _end(self, key: Key, error: str = "", attributes: Attributes | None = None) -> Operations:
        """End a span, if it is open, and before it what is open within it."""
        if key not in self._open:
            return
        if attributes:
            yield Describe(key, attributes)
        family = {key}
        for each, parent in self._open.items():  # parents come before their children
            if parent in family:
                family.add(each)
        for each in reversed([each for each in self._open if each in family]):
            del self._open[each]
            yield End(each, error)


def _command(order: str, command: str) -> Key:
    return ("order", order, "attempt", "stage", "command", command)


def _agent(order: str) -> Key:
    return ("order", order, "attempt", "stage", "agent")


def _call(order: str) -> Key:
    return (*_agent(order), "call") if order else ("plan", "attempt", "call")


def _messages(reply: str) -> str:
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": reply}]}])


_MOST_TEXT = 100_000  # characters of an attribute


class Tracing:
    """Draw the events of one command as spans. A fault of a library never reaches the command.

    The command's own span begins with the first event, dated back to now; a command without
    events has none.
    """

    def __init__(
        self, verb: str, *, content: bool, protect: Callable[[str], str], environ: Mapping[str, str]
    ) -> None:
        from opentelemetry import trace

        self._tracer = trace.get_tracer("llmch", VERSION)
        self._verb = verb
        self._begun = time.time_ns()
        self._protect = protect
        self._above = _above(environ)
        self._spans = Spans(content)
        self._open: dict[Key, Span] = {}
        self._over = False

    def __call__(self, event: events.Event) -> None:
        """Take an event; one that comes after the end is of a thread that nobody waits for."""
        if self._over:
            return
        with contextlib.suppress(Exception):
            self._do(self._spans.follow(event))

    def end(self, error: str = "") -> None:
        """End all spans that are open; `error` says in a word what ended the command, if it did."""
        self._over = True
        if self._open:
            with contextlib.suppress(Exception):
                self._do(self._spans.close(error))

    def _do(self, operations: Iterable[Operation]) -> None:
        from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context

        for each in operations:
            if COMMAND not in self._open:
                self._open[COMMAND] = self._tracer.start_span(
                    f"llmch {self._verb}", self._above, start_time=self._begun
                )
            match each:
                case Begin(key, parent, name, attributes, is_call):
                    self._open[key] = self._tracer.start_span(
                        self._protect(name),
                        set_span_in_context(self._open[parent]),
                        SpanKind.CLIENT if is_call else SpanKind.INTERNAL,
                        self._fit(attributes),
                    )
                case Describe(key, attributes):
                    self._open[key].set_attributes(self._fit(attributes))
                case Note(key, name, attributes):
                    self._open[key].add_event(name, self._fit(attributes))
                case End(key, error):
                    span = self._open.pop(key)
                    if error:
                        span.set_attribute("error.type", error)
                        span.set_status(StatusCode.ERROR, error)
                    span.end()

    def _fit(self, attributes: Attributes) -> Attributes:
        return {
            name: self._protect(value)[:_MOST_TEXT] if isinstance(value, str) else value
            for name, value in attributes.items()
        }


def carried() -> dict[str, str]:
    """Return the variables that put a command below the span that is under way here, if any is."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return {name.upper(): value for name, value in carrier.items()}


def _above(environ: Mapping[str, str]) -> Context | None:
    """Return the context that the environment names, as where a traced job started the command."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {name: environ.get(name.upper(), "") for name in ("traceparent", "tracestate")}
    return TraceContextTextMapPropagator().extract(carrier) if carrier["traceparent"] else None
