"""The records of a run's journal: one type for each step. Pure.

Facts that were added to a step later have a default, so that the journal of an older version is
still understood.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Literal

from factory.orders.documents import AttemptStage, Stage, UsageRecord, VerdictWord
from shared.llm.record.earlier import EarlierRun
from shared.run_record import Ending


class JournalStep(StrEnum):
    """Names the step that a record announces or reports."""

    RUN_BEGUN = "run_begun"
    WORKSPACE_OPENING = "workspace_opening"
    WORKSPACE_OPENED = "workspace_opened"
    ORDER_BEGUN = "order_begun"
    STAGE = "stage"
    ATTEMPT_FAILED = "attempt_failed"
    LANDING = "landing"
    LANDED = "landed"
    ORDER_ENDED = "order_ended"
    ORDER_STOPPED = "order_stopped"
    RUN_ENDED = "run_ended"


@dataclass(frozen=True, slots=True)
class ListedOrder:
    """An order of the run, as the run lists it when it begins."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class FailureFacts:
    """Why an attempt or an order failed: the stage, the command if one failed, a short excerpt.

    The stage is "error" where the harness or its surroundings failed, not a proposal.
    """

    stage: Stage | Literal["error"]
    command: str | None = None
    exit_code: int | None = None
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class RunBegun:
    """A run holds the repo and has its folder. `earlier` are the transcripts it was handed."""

    step: ClassVar[JournalStep] = JournalStep.RUN_BEGUN
    run_id: str
    pid: int
    started: str
    folder: Path
    orders: tuple[ListedOrder, ...]
    branch: str
    base: str
    transcript: Path
    earlier: tuple[EarlierRun, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkspaceOpening:
    """A working tree is about to be made at `root`."""

    step: ClassVar[JournalStep] = JournalStep.WORKSPACE_OPENING
    root: Path


@dataclass(frozen=True, slots=True)
class WorkspaceOpened:
    """The working tree at `root` is complete."""

    step: ClassVar[JournalStep] = JournalStep.WORKSPACE_OPENED
    root: Path


@dataclass(frozen=True, slots=True)
class OrderBegun:
    """An order is about to be made on the commit `base`."""

    step: ClassVar[JournalStep] = JournalStep.ORDER_BEGUN
    order: str
    base: str
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True)
class StageBegun:
    """A stage of an attempt begins; `usage` is what the order's model calls took until then."""

    step: ClassVar[JournalStep] = JournalStep.STAGE
    order: str
    attempt: int
    stage: AttemptStage
    usage: UsageRecord | None = None


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt ended without a commit; `usage` is what the order's calls took until then."""

    step: ClassVar[JournalStep] = JournalStep.ATTEMPT_FAILED
    order: str
    attempt: int
    failure: FailureFacts
    usage: UsageRecord | None = None


@dataclass(frozen=True, slots=True)
class LandingBegun:
    """The branch is about to move from `old` (zeros: it does not exist yet) to `new`."""

    step: ClassVar[JournalStep] = JournalStep.LANDING
    order: str
    branch: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class OrderLanded:
    """An order's commit is on the branch; `skipped` says that an earlier run landed it."""

    step: ClassVar[JournalStep] = JournalStep.LANDED
    order: str
    commit: str
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class OrderConcluded:
    """An order came to its verdict."""

    step: ClassVar[JournalStep] = JournalStep.ORDER_ENDED
    order: str
    verdict: VerdictWord
    failure: FailureFacts | None
    usage: UsageRecord


@dataclass(frozen=True, slots=True)
class OrderStopped:
    """An order was under way when its run ended; the next run takes it up again."""

    step: ClassVar[JournalStep] = JournalStep.ORDER_STOPPED
    order: str
    usage: UsageRecord


@dataclass(frozen=True, slots=True)
class RunConcluded:
    """The run closed all that it had opened; an older journal does not say how it ended."""

    step: ClassVar[JournalStep] = JournalStep.RUN_ENDED
    ending: Ending | None = None


Entry = (
    RunBegun
    | WorkspaceOpening
    | WorkspaceOpened
    | OrderBegun
    | StageBegun
    | FailedAttempt
    | LandingBegun
    | OrderLanded
    | OrderConcluded
    | OrderStopped
    | RunConcluded
)
