"""Reports what an order's attempts do, and stops an order that was cancelled.

The nodes of an attempt say here where they are. What is put on record is decided here, and the
console only hears of it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from factory.orders.documents import AttemptStage, FailureBrief, UsageRecord
from factory.record.journal import Journal
from factory.record.journal_entries import FailedAttempt, FailureFacts, StageBegun
from shared.errors import Interrupted
from shared.events import AttemptFailed, AttemptStarted, Emit, StageStarted
from shared.secrets.redaction import redact, secret_values

_EXCERPT_LINES = 5
_EXCERPT_CHARACTERS = 500


class Progress(Protocol):
    """What a judged tree needs: to say which stage begins, and to hear whether to stop."""

    def begin_stage(self, attempt: int, stage: AttemptStage) -> None:
        """Say that a stage begins."""

    def check_cancelled(self) -> None:
        """Raise `Interrupted` where the order was cancelled."""


@dataclass(frozen=True, slots=True)
class AnnouncedProgress:
    """Announces the stages of what is no attempt: nothing of it goes into the journal."""

    order: str
    emit: Emit

    def begin_stage(self, attempt: int, stage: AttemptStage) -> None:
        """Announce a stage."""
        self.emit(StageStarted(self.order, attempt, stage))

    def check_cancelled(self) -> None:
        """Do nothing: whoever judges outside of an attempt is stopped in another way."""


@dataclass(frozen=True, slots=True)
class AttemptProgress:
    """Records the attempts of one order in the run's journal, and announces them.

    `usage` says what the order's model calls took so far. Each method but the last raises
    `CommandFailed` where the disk refuses a record.
    """

    order: str
    journal: Journal
    emit: Emit
    cancelled: threading.Event
    usage: Callable[[], UsageRecord]

    def begin_attempt(self, attempt: int) -> None:
        """Announce an attempt. Raises `Interrupted` where the order was cancelled."""
        self.check_cancelled()
        self.emit(AttemptStarted(self.order, attempt))

    def begin_stage(self, attempt: int, stage: AttemptStage) -> None:
        """Record and announce a stage. Raises `Interrupted` where the order was cancelled."""
        self.check_cancelled()
        self.journal.record(StageBegun(self.order, attempt, stage, self.usage()))
        self.emit(StageStarted(self.order, attempt, stage))

    def fail_attempt(self, attempt: int, brief: FailureBrief, next_step: str) -> None:
        """Record and announce that an attempt failed, and what happens next.

        Raises `Interrupted` where the order was cancelled.
        """
        self.check_cancelled()
        self.journal.record(FailedAttempt(self.order, attempt, failure_facts(brief), self.usage()))
        self.emit(
            AttemptFailed(
                order=self.order,
                attempt=attempt,
                stage=brief.stage,
                command=brief.command or "",
                exit_code=brief.exit_code,
                excerpt=brief.primary_error_excerpt,
                next_step=next_step,
            )
        )

    def check_cancelled(self) -> None:
        """Raise `Interrupted` where the order was cancelled."""
        if self.cancelled.is_set():
            raise Interrupted("cancelled")


def failure_facts(brief: FailureBrief) -> FailureFacts:
    """Return what the journal keeps of a failure: an excerpt of a few lines, without secrets."""
    return FailureFacts(
        brief.stage, brief.command, brief.exit_code, short_excerpt(brief.primary_error_excerpt)
    )


def short_excerpt(text: str) -> str:
    """Return the last few lines that say something: there a command says what it failed by."""
    safe = redact(text, secret_values(os.environ))
    lines = [line for line in safe.splitlines() if line.strip()]
    return "\n".join(lines[-_EXCERPT_LINES:])[-_EXCERPT_CHARACTERS:]
