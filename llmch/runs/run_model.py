"""Represents a run as one value: what was asked for, what happened, what speaks for it.

Every text in them comes from a model, a command, a repository or a person, as it was recorded.
Whoever shows it makes it safe for the place where it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from factory.orders.documents import AgentRecord, CommandFlag, FailureBrief, SandboxRecord
from factory.orders.stages import Failure
from shared.llm.usage import NO_USAGE, UsageRecord
from shared.work_order.work_order import Assumption, CoveredRequirement


@dataclass(frozen=True, slots=True)
class Output:
    """Hold what a command printed on one stream, as far as the record quotes it.

    `size` is that of the whole log in bytes, and `path` names the log; `size` is `None` if the
    log is gone.
    """

    text: str
    path: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class CommandView:
    """Hold one run of a command; `purpose` says what it was run for."""

    purpose: str
    text: str
    exit_code: int | None
    seconds: float | None
    stdout: Output
    stderr: Output
    tests: str = ""
    note: str = ""
    sandbox: SandboxRecord | None = None
    by_itself: bool = True
    """Whether the command chose its exit code: it was started, and nothing ended it."""

    @property
    def passed(self) -> bool:
        """Return whether the command passed; a failure that counts for nothing has a note."""
        return self.by_itself and (self.exit_code == 0 or bool(self.note))


class Standing(StrEnum):
    """Say how a run ended, or that it has not ended."""

    PASSED = "passed"
    FAILED = "failed"
    ENDED_EARLY = "ended early"
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    CUT_OFF = "cut off"
    NOT_ON_RECORD = "not on record"
    """There are only the commits of a branch: no record says how the run that made them ended."""


@dataclass(frozen=True, slots=True)
class SandboxUse:
    """Hold a sandbox, and the number of commands that ran in it."""

    record: SandboxRecord
    commands: int = 1


class Judged(StrEnum):
    """Say how something ended that can pass or fail."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"
    """It goes on, or it was cut off."""


@dataclass(frozen=True, slots=True)
class Change:
    """Hold a patch, or `missing` says why there is none.

    `command` prints the whole of the patch, and `is_cut` says that this is its beginning only.
    """

    patch: str = ""
    missing: str = ""
    command: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Hold the beginning and the end of a file on record.

    `left_out` is how many bytes stand between the two, and `path` is the file's, within the records
    of the run.
    """

    head: str
    tail: str = ""
    left_out: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class CallView:
    """Hold what a model was asked once, and what it said; `reply` is `None` if it said nothing.

    `reasoning` is `None` if none is on record.
    """

    prompt: Excerpt
    reply: Excerpt | None = None
    reasoning: Excerpt | None = None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """Hold one attempt at an order."""

    number: int
    judged: Judged
    model: str = ""
    summary: str = ""
    """The model's own words about its proposal."""
    start: float | None = None
    end: float | None = None
    brief: FailureBrief | None = None
    change: Change = field(default_factory=Change)
    commands: tuple[CommandView, ...] = ()
    asked_again: tuple[str, ...] = ()
    agent: AgentRecord | None = None
    """The agent that made the proposal, if one did."""
    repeats: int | None = None
    calls: tuple[CallView, ...] = ()
    """The calls of the model, in their sequence."""


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """Hold the usage of the calls of one role to one model, and the seconds that they took."""

    role: str
    model: str
    usage: UsageRecord
    seconds: float


@dataclass(frozen=True, slots=True)
class OrderView:
    """Hold one order: what it asks for, what was tried, and what landed.

    `state` is that of the run's summary, or what the records show if the summary is missing.
    `earlier_run` is the id of the run that made the order, if that is not the run of the page.
    """

    id: str
    title: str
    state: str
    intent: str = ""
    notes: str = ""
    allowed_files: tuple[str, ...] = ()
    removed_files: tuple[str, ...] = ()
    context_files: tuple[str, ...] = ()
    acceptance_commands: tuple[str, ...] = ()
    acceptance_files: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    commit: str = ""
    parent: str = ""
    proof: str = ""
    change: Change = field(default_factory=Change)
    """The changes that the commit makes."""
    attempts: tuple[AttemptView, ...] = ()
    trials: tuple[CommandView, ...] = ()
    """The acceptance commands, tried on code that does not have the order's work."""
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()
    flags: tuple[CommandFlag, ...] = ()
    usage: UsageRecord = NO_USAGE
    earlier_run: str = ""
    stated: tuple[CommandView, ...] = ()
    """The commands that judged the commit, as its statement says; no output is stated."""
    maker: str = ""
    """Who made the commit, as its statement says."""

    @property
    def is_on_branch(self) -> bool:
        return self.state in ("landed", "skipped", "accepted")

    @property
    def tried(self) -> int:
        return len(self.attempts)

    @property
    def rejected(self) -> int:
        return sum(each.judged is Judged.FAILED for each in self.attempts)


class SpanKind(StrEnum):
    """Name a kind of time span in the time line."""

    ATTEMPT = "attempt"
    MODEL = "model"
    COMMAND = "command"
    TRIAL = "trial"
    """An acceptance command that was tried before the work was done."""
    WAIT = "wait"
    """Nothing is done for the order: it waits for those before it."""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Hold a time span of the run; `number` is the attempt that it belongs to, 0 for none."""

    activity: SpanKind
    start: float
    end: float
    label: str
    judged: Judged
    number: int = 0


@dataclass(frozen=True, slots=True)
class Track:
    """Hold the time spans of one order; `order` is "" for what the run did for no order."""

    order: str
    title: str
    spans: tuple[TimeSpan, ...]

    @property
    def start(self) -> float:
        return min((each.start for each in self.spans), default=0.0)

    @property
    def end(self) -> float:
        return max((each.end for each in self.spans), default=0.0)


@dataclass(frozen=True, slots=True)
class PlanAttemptView:
    """Hold one attempt at the plan: how many orders it has, and what the rules say of it.

    `findings` are the first of all, of which there are `errors` and `warnings`.
    """

    number: int
    judged: Judged
    work_orders: int = 0
    errors: int = 0
    warnings: int = 0
    findings: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    calls: tuple[CallView, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanReviewView:
    """Hold one round of the plan's review; `failure` says why it could not be used, if it was."""

    number: int
    claims: tuple[str, ...] = ()
    dismissed: int = 0
    failure: str = ""
    calls: tuple[CallView, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanningView:
    """Hold how the plan of a run was made, in a run of its own; times are since that one began."""

    run_id: str
    started: str = ""
    attempts: tuple[PlanAttemptView, ...] = ()
    reviews: tuple[PlanReviewView, ...] = ()
    spans: tuple[TimeSpan, ...] = ()
    usage: UsageRecord = NO_USAGE


@dataclass(frozen=True, slots=True)
class RunView:
    """Hold a run, or a branch that no run on record made; then `run_id` is "".

    `gaps` say what the records do not have, and where it could be had.
    """

    run_id: str
    title: str
    standing: Standing
    branch: str = ""
    base: str = ""
    tip: str = ""
    command: str = ""
    started: str = ""
    ended: str = ""
    seconds: float | None = None
    error: str = ""
    version: str = ""
    overview: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    orders: tuple[OrderView, ...] = ()
    tracks: tuple[Track, ...] = ()
    usage: UsageRecord = NO_USAGE
    roles: tuple[RoleUsage, ...] = ()
    requirements: tuple[CoveredRequirement, ...] = ()
    sandboxes: tuple[SandboxUse, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    messages: tuple[str, ...] = ()
    """The notes and warnings of the run itself."""
    gaps: tuple[str, ...] = ()
    planning: PlanningView | None = None
    """How the plan was made; `None` if its records are not here."""

    @property
    def landed(self) -> int:
        return sum(each.is_on_branch for each in self.orders)

    @property
    def attempts(self) -> int:
        """Return the number of attempts of this run, including those of earlier runs it shows."""
        return sum(len(each.attempts) for each in self.orders)

    @property
    def rejected(self) -> int:
        return sum(each.rejected for each in self.orders)


def calls_of(run: RunView) -> Iterator[CallView]:
    """Yield all calls of models that a run shows."""
    if run.planning is not None:
        for made in run.planning.attempts:
            yield from made.calls
        for review in run.planning.reviews:
            yield from review.calls
    for order in run.orders:
        for attempt in order.attempts:
            yield from attempt.calls


def changes_of(run: RunView) -> Iterator[Change]:
    """Yield all changes that a run shows."""
    for order in run.orders:
        yield order.change
        yield from (attempt.change for attempt in order.attempts)
