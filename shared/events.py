"""What happens during a run, as values: the console renders them, `events.jsonl` keeps them.

An event says what happened, never how to show it. It is a moment, not a state: where an order
stands is in the run's journal, and nothing is decided, recorded or stopped by emitting an event.
Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all events; `kind` names it in `events.jsonl`."""

    kind: ClassVar[str] = "event"


Emit = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Take an event and do nothing with it: for callers that nobody watches."""


def fan_out(sinks: Iterable[Emit]) -> Emit:
    """Return one sink that hands each event to all of `sinks`, in order."""
    targets = tuple(sinks)

    def emit(event: Event) -> None:
        for sink in targets:
            sink(event)

    return emit


def event_to_json(event: Event) -> dict[str, Any]:
    """Return the event as JSON values, its kind first."""
    document: dict[str, Any] = {"event": event.kind}
    for each in fields(event):
        document[each.name] = _plain(getattr(event, each.name))
    return document


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


# Any command


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """Something the user should know that does not stop the command."""

    kind: ClassVar[str] = "warned"
    message: str


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """A fact worth one line: which sandbox holds, where replies come from."""

    kind: ClassVar[str] = "noted"
    message: str


# Model calls


@dataclass(frozen=True, slots=True)
class ModelCallStarted(Event):
    """A request goes out (or is looked up in a transcript); `order` is empty outside of one."""

    kind: ClassVar[str] = "model_call_started"
    place: str
    model: str
    order: str = ""


class Channel(StrEnum):
    """The part of a reply that a streamed piece belongs to."""

    TEXT = "text"
    REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class ModelTextArrived(Event):
    """A piece of a streamed reply."""

    kind: ClassVar[str] = "model_text_arrived"
    channel: Channel
    text: str
    order: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRetryScheduled(Event):
    """A call failed in a way that may pass: it is made again after `wait_seconds`."""

    kind: ClassVar[str] = "model_retry_scheduled"
    reason: str
    wait_seconds: float
    retry: int
    order: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCallEnded(Event):
    """A reply is there; `seconds` includes all waiting."""

    kind: ClassVar[str] = "model_call_ended"
    place: str
    model: str
    seconds: float
    input_tokens: int
    output_tokens: int
    replayed: bool
    order: str = ""


@dataclass(frozen=True, slots=True)
class UsageCounted(Event):
    """What the live calls for an order took, or, where `order` is empty, all those of the run.

    `cost_usd` is `None` while any price is unknown.
    """

    kind: ClassVar[str] = "usage_counted"
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None
    replayed_calls: int
    order: str = ""


# Planner


@dataclass(frozen=True, slots=True)
class PlanStarted(Event):
    """A spec is about to be compiled."""

    kind: ClassVar[str] = "plan_started"
    spec: str
    run_id: str
    max_attempts: int


@dataclass(frozen=True, slots=True)
class PlanAttemptStarted(Event):
    """The planner asks the model, for the `attempt`-th time."""

    kind: ClassVar[str] = "plan_attempt_started"
    attempt: int


@dataclass(frozen=True, slots=True)
class PlanJudged(Event):
    """The rules have read a plan; `findings` are rendered, `CODE WO-NN field: message`."""

    kind: ClassVar[str] = "plan_judged"
    attempt: int
    work_orders: int
    errors: int
    warnings: int
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanRepaired(Event):
    """Faults with one certain remedy were mended without a model; `fixes` are rendered."""

    kind: ClassVar[str] = "plan_repaired"
    attempt: int
    fixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanReviewed(Event):
    """A reviewer has read a valid plan: `claims` count and are rendered, `dismissed` do not.

    `failure` says why there is no review to go by, where that is so.
    """

    kind: ClassVar[str] = "plan_reviewed"
    round: int
    claims: tuple[str, ...]
    dismissed: int
    failure: str


@dataclass(frozen=True, slots=True)
class PlanEnded(Event):
    """Compiling is over; `output_dir` is empty where there is no valid plan."""

    kind: ClassVar[str] = "plan_ended"
    ok: bool
    attempts: int
    titles: tuple[str, ...]
    output_dir: str
    run_dir: str


# Factory


@dataclass(frozen=True, slots=True)
class OrderStarted(Event):
    """A work order begins on `branch` at `baseline`."""

    kind: ClassVar[str] = "order_started"
    order: str
    title: str
    branch: str
    baseline: str
    max_attempts: int


@dataclass(frozen=True, slots=True)
class AttemptStarted(Event):
    """One pass through propose, apply, judge begins."""

    kind: ClassVar[str] = "attempt_started"
    order: str
    attempt: int


@dataclass(frozen=True, slots=True)
class StageStarted(Event):
    """A stage of an attempt begins.

    They are "propose", "apply", "contract", "verify", "accept" and "commit".
    """

    kind: ClassVar[str] = "stage_started"
    order: str
    attempt: int
    stage: str


@dataclass(frozen=True, slots=True)
class WritesApplied(Event):
    """The proposal passed every check and its files are in the workspace."""

    kind: ClassVar[str] = "writes_applied"
    order: str
    attempt: int
    files: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class CommandStarted(Event):
    """A verification or acceptance command starts in the sandbox."""

    kind: ClassVar[str] = "command_started"
    order: str
    purpose: str
    command: str


@dataclass(frozen=True, slots=True)
class CommandEnded(Event):
    """A verification or acceptance command ended; `note` says why a code other than 0 passes."""

    kind: ClassVar[str] = "command_ended"
    order: str
    purpose: str
    command: str
    exit_code: int
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class CommandTried(Event):
    """An acceptance command ended where nothing is done yet: on the "baseline" or "hollow" code."""

    kind: ClassVar[str] = "command_tried"
    order: str
    tree: str
    command: str
    exit_code: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CommandFlagged(Event):
    """An acceptance command proves less than it should: `code` is W234 or W252."""

    kind: ClassVar[str] = "command_flagged"
    order: str
    code: str
    command: str
    message: str


@dataclass(frozen=True, slots=True)
class AttemptFailed(Event):
    """An attempt ended without a commit; `next_step` says in words what happens now."""

    kind: ClassVar[str] = "attempt_failed"
    order: str
    attempt: int
    stage: str
    command: str
    exit_code: int | None
    excerpt: str
    next_step: str


@dataclass(frozen=True, slots=True)
class OrderEnded(Event):
    """A work order is over: `verdict` is PASS, FAIL or ERROR; `commit` is empty without one."""

    kind: ClassVar[str] = "order_ended"
    order: str
    verdict: str
    attempts: int
    commit: str
    branch: str
    seconds: float
    files: tuple[str, ...]
    repo: str = ""
    run_dir: str = ""


@dataclass(frozen=True, slots=True)
class OrderSkipped(Event):
    """The order has landed on this branch before."""

    kind: ClassVar[str] = "order_skipped"
    order: str
    title: str
    commit: str


@dataclass(frozen=True, slots=True)
class BatchStarted(Event):
    """A manifest's orders are about to be executed on one branch."""

    kind: ClassVar[str] = "batch_started"
    orders: int
    branch: str
    base: str


@dataclass(frozen=True, slots=True)
class BatchEnded(Event):
    """All orders landed, or one did not."""

    kind: ClassVar[str] = "batch_ended"
    verdict: str
    branch: str
    tip: str
    landed: int
    orders: int
    seconds: float
    repo: str = ""
    run_dir: str = ""
