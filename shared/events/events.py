"""Defines what happens during a run, as values, and how a run ended.

An event says what happened, never how to show it. It is a moment, not a state: the run's journal
says how far an order is, and emitting an event decides, records and stops nothing.
Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, ClassVar

from shared.errors import Interrupted, LlmchError


@dataclass(frozen=True, slots=True)
class Event:
    """Say that something happened; `kind` names the event in `events.jsonl`."""

    kind: ClassVar[str] = "event"


Emit = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Take an event and do nothing with it, for callers whose events nobody needs."""


def fan_out(sinks: Iterable[Emit]) -> Emit:
    """Return one sink that passes each event on to all of `sinks`, in order."""
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


@dataclass(frozen=True, slots=True)
class AttemptStarted(Event):
    """Report that an attempt begins: one pass through propose, apply and judge."""

    kind: ClassVar[str] = "attempt_started"
    order: str
    attempt: int


@dataclass(frozen=True, slots=True)
class StageStarted(Event):
    """Report that a stage of an attempt begins.

    The stages are "propose", "apply", "contract", "verify", "accept" and "commit".
    """

    kind: ClassVar[str] = "stage_started"
    order: str
    attempt: int
    stage: str


@dataclass(frozen=True, slots=True)
class WritesApplied(Event):
    """Report that the proposal passed every check and its files are in the workspace.

    `removed` are the files that the order removes.
    """

    kind: ClassVar[str] = "writes_applied"
    order: str
    attempt: int
    files: tuple[str, ...]
    summary: str
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelAskedAgain(Event):
    """Report that a reply was not worth judging, so that the model is asked again at once.

    `reason` is `unreadable`, `unchanged`, `repeated` or `hollow`; `note` is shown to the model.
    """

    kind: ClassVar[str] = "model_asked_again"
    order: str
    attempt: int
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class AgentStarted(Event):
    """Report that an agent begins to work on an attempt; `agent` is its name and version."""

    kind: ClassVar[str] = "agent_started"
    order: str
    attempt: int
    agent: str


@dataclass(frozen=True, slots=True)
class AgentActed(Event):
    """Report that an agent's call was answered; `turn` counts its calls, and tokens add up."""

    kind: ClassVar[str] = "agent_acted"
    order: str
    attempt: int
    turn: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class AgentEnded(Event):
    """Report that an agent has ended, in the words of `ended`.

    `files` are those that it proposes, and `dropped` what it changed besides.
    """

    kind: ClassVar[str] = "agent_ended"
    order: str
    attempt: int
    ended: str
    calls: int
    seconds: float
    files: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptFailed(Event):
    """Report that an attempt ended without a commit; `next_step` says what happens now.

    `facts` say what the failure shows, the most telling one last.
    """

    kind: ClassVar[str] = "attempt_failed"
    order: str
    attempt: int
    stage: str
    command: str
    exit_code: int | None
    excerpt: str
    next_step: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """Warn the user of something that does not stop the command."""

    kind: ClassVar[str] = "warned"
    message: str


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """Report a fact that is worth one line: which sandbox holds, where replies come from.

    What only some want to know is a `detail`.
    """

    kind: ClassVar[str] = "noted"
    message: str
    detail: bool = False


@dataclass(frozen=True, slots=True)
class ModelCallStarted(Event):
    """Report that a request is sent, or looked up in a transcript.

    `order` is empty for a call that belongs to no order.
    """

    kind: ClassVar[str] = "model_call_started"
    place: str
    model: str
    order: str = ""


class Channel(StrEnum):
    """Name the part of a reply that a streamed piece belongs to."""

    TEXT = "text"
    REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class ModelTextArrived(Event):
    """Report a piece of a streamed reply."""

    kind: ClassVar[str] = "model_text_arrived"
    channel: Channel
    text: str
    order: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRetryScheduled(Event):
    """Report that a call failed for a passing reason and is made again after `wait_seconds`."""

    kind: ClassVar[str] = "model_retry_scheduled"
    reason: str
    wait_seconds: float
    retry: int
    order: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCallEnded(Event):
    """Report that a reply is complete; `seconds` includes all waiting."""

    kind: ClassVar[str] = "model_call_ended"
    place: str
    model: str
    seconds: float
    input_tokens: int
    output_tokens: int
    replayed: bool
    order: str = ""


@dataclass(frozen=True, slots=True)
class BudgetCommitted(Event):
    """Report what a capped command has spent, and what its calls under way may still take.

    `tokens` are input and output together; `cost_usd` is `None` while any price is unknown. A call
    that was cut off counts with the most that it could take: nobody knows what it cost.
    """

    kind: ClassVar[str] = "budget_committed"
    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class UsageCounted(Event):
    """Report the usage of the live calls for an order; of all in the run where `order` is empty.

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
    estimated_calls: int = 0


@dataclass(frozen=True, slots=True)
class CommandStarted(Event):
    """Report that a verification or acceptance command starts in the sandbox."""

    kind: ClassVar[str] = "command_started"
    order: str
    purpose: str
    command: str


@dataclass(frozen=True, slots=True)
class CommandEnded(Event):
    """Report that a verification or acceptance command ended.

    `note` says why an exit code other than 0 passes.
    """

    kind: ClassVar[str] = "command_ended"
    order: str
    purpose: str
    command: str
    exit_code: int
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class CommandTried(Event):
    """Report that an acceptance command was tried before the order's work was done.

    `tree` names the code it ran on: "baseline" or "hollow".
    """

    kind: ClassVar[str] = "command_tried"
    order: str
    tree: str
    command: str
    exit_code: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CommandFlagged(Event):
    """Report that an acceptance command proves less than it should; `code` is W234 or W252."""

    kind: ClassVar[str] = "command_flagged"
    order: str
    code: str
    command: str
    message: str


@dataclass(frozen=True, slots=True)
class OrderStarted(Event):
    """Report that a work order begins on `branch` at `baseline`."""

    kind: ClassVar[str] = "order_started"
    order: str
    title: str
    branch: str
    baseline: str
    max_attempts: int


@dataclass(frozen=True, slots=True)
class CandidateCoupled(Event):
    """Report that an order's commit is being judged on `parent`, before all before it has landed.

    `ahead` are the orders whose commits `parent` has and that may still fail; then the order is
    judged again.
    """

    kind: ClassVar[str] = "candidate_coupled"
    order: str
    commit: str
    parent: str
    ahead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateDropped(Event):
    """Report that an order is judged again, because `because` did not land as it was expected."""

    kind: ClassVar[str] = "candidate_dropped"
    order: str
    because: str


@dataclass(frozen=True, slots=True)
class OrderEnded(Event):
    """Report that a work order is over.

    `verdict` is PASS, FAIL or ERROR; `commit` is empty if nothing was committed. `proof` says in
    one line which commands and tests speak for the commit. `next_step` says what to do where the
    order was run alone and is not on the branch.
    """

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
    proof: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class OrderSkipped(Event):
    """Report that an order is skipped because it has landed on this branch before."""

    kind: ClassVar[str] = "order_skipped"
    order: str
    title: str
    commit: str


@dataclass(frozen=True, slots=True)
class BatchStarted(Event):
    """Report that the execution of a manifest's orders on one branch begins."""

    kind: ClassVar[str] = "batch_started"
    orders: int
    branch: str
    base: str


@dataclass(frozen=True, slots=True)
class BatchEnded(Event):
    """Report that the execution of a manifest's orders is over.

    `next_step` says what to do where not all orders are on the branch, which is in `repo` or, where
    no clone of the person has it, on `remote`.
    """

    kind: ClassVar[str] = "batch_ended"
    verdict: str
    branch: str
    tip: str
    landed: int
    orders: int
    seconds: float
    repo: str = ""
    run_dir: str = ""
    next_step: str = ""
    remote: str = ""


@dataclass(frozen=True, slots=True)
class PlanStarted(Event):
    """Report that the planner begins to compile a spec."""

    kind: ClassVar[str] = "plan_started"
    spec: str
    run_id: str
    max_attempts: int


@dataclass(frozen=True, slots=True)
class PlanAttemptStarted(Event):
    """Report that the planner asks the model for the `attempt`-th time.

    `stage` is "outline" or "details" where a plan is made in stages, and `calls` says how many
    questions are asked side by side.
    """

    kind: ClassVar[str] = "plan_attempt_started"
    attempt: int
    stage: str = ""
    calls: int = 1


@dataclass(frozen=True, slots=True)
class PlanJudged(Event):
    """Report that the rules judged a plan; `findings` are texts, `CODE WO-NN field: message`."""

    kind: ClassVar[str] = "plan_judged"
    attempt: int
    work_orders: int
    errors: int
    warnings: int
    findings: tuple[str, ...]
    stage: str = ""


@dataclass(frozen=True, slots=True)
class PlanRepaired(Event):
    """Report that faults with one certain remedy were fixed without a model; `fixes` are texts."""

    kind: ClassVar[str] = "plan_repaired"
    attempt: int
    fixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanReviewed(Event):
    """Report that a reviewer read a valid plan.

    `claims` are the texts of the claims that count; `dismissed` is the number of those that do
    not. `failure` says why the review cannot be used, and is empty if it can.
    """

    kind: ClassVar[str] = "plan_reviewed"
    round: int
    claims: tuple[str, ...]
    dismissed: int
    failure: str


@dataclass(frozen=True, slots=True)
class PlanEnded(Event):
    """Report that compiling is over; `output_dir` is empty without a valid plan."""

    kind: ClassVar[str] = "plan_ended"
    ok: bool
    attempts: int
    titles: tuple[str, ...]
    output_dir: str
    run_dir: str


class Ending(StrEnum):
    """Say how a run ended, as `run.json` keeps it; a run that was killed has no ending."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    INTERNAL_ERROR = "internal error"


def ending_of(error: BaseException) -> Ending:
    """Return how a run ends that an error ends.

    A library can turn an interrupt into another error, which then has it as its context.
    """
    match error:
        case KeyboardInterrupt() | Interrupted():
            return Ending.INTERRUPTED
        case LlmchError():
            return Ending.ERROR
        case _:
            inner = error.__cause__ or error.__context__
            is_interrupt = inner is not None and ending_of(inner) is Ending.INTERRUPTED
            return Ending.INTERRUPTED if is_interrupt else Ending.INTERNAL_ERROR
