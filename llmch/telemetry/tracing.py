"""Carries out operations on spans by the API of OpenTelemetry; no other file knows the API.

Without an SDK in the process, which is the person's to choose, the API does nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from llmch.telemetry.spans import (
    COMMAND,
    Attributes,
    Begin,
    Describe,
    End,
    Key,
    Note,
    Operation,
    Spans,
)
from shared.events.event import Event
from shared.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

_MOST_TEXT = 100_000  # characters of an attribute


class Tracing:
    """Draw the events of one command as spans. A fault of a library never reaches the command.

    The command's own span begins with the first event, dated back to now; a command without
    events has none.
    """

    def __init__(
        self,
        verb: str,
        *,
        content: bool,
        protect: Callable[[str], str],
        environ: Mapping[str, str],
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

    def __call__(self, event: Event) -> None:
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
        """Return attributes without secrets and control characters, of a bounded length."""
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
