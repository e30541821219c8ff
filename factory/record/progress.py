"""Reports the progress of an order's attempts, and stops an order that was cancelled.

The nodes of an attempt report each step to this module. It decides which steps the journal records,
and it emits the events that the console shows.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from factory.orders.documents import FailureBrief
from factory.orders.stages import AttemptStage, Failure
from factory.record.journal import Journal
from factory.record.journal_entries import FailedAttempt, StageBegun
from shared.errors import Interrupted
from shared.events.events import AttemptFailed, AttemptStarted, Emit, StageStarted
from shared.files.secret_values import redact, secret_values
from shared.llm.usage import UsageRecord

_EXCERPT_LINES = 5
_EXCERPT_CHARACTERS = 500


class Progress(Protocol):
    """Let the code that judges a tree report the stage that begins, and learn whether to stop."""

    def begin_stage(self, attempt: int, stage: AttemptStage) -> None:
        """Report that a stage begins."""

    def check_cancelled(self) -> None:
        """Raise `Interrupted` if the order was cancelled."""


@dataclass(frozen=True, slots=True)
class AnnouncedProgress:
    """Announce the stages of a judgement outside any attempt. The journal records none of them."""

    order: str
    emit: Emit

    def begin_stage(self, attempt: int, stage: AttemptStage) -> None:
        self.emit(StageStarted(self.order, attempt, stage))

    def check_cancelled(self) -> None:
        """Do nothing: a judgement outside any attempt is stopped in another way."""


@dataclass(frozen=True, slots=True)
class AttemptProgress:
    """Record the attempts of one order in the run's journal, and announce them.

    `usage` returns the usage of the order's model calls so far. If the order is cancelled while
    `reporting` is held, no report comes after that. `begin_stage` and `fail_attempt` raise
    `CommandFailed` if the disk refuses the record.
    """

    order: str
    journal: Journal
    emit: Emit
    is_cancelled: Callable[[], bool]
    usage: Callable[[], UsageRecord]
    reporting: threading.Lock

    def begin_attempt(self, attempt: int) -> None:
        """Announce an attempt. Raises `Interrupted` if the order was cancelled."""
        with self._reporting():
            self.emit(AttemptStarted(self.order, attempt))

    def begin_stage(self, attempt: int, stage: AttemptStage) -> None:
        """Record and announce a stage. Raises `Interrupted` if the order was cancelled."""
        with self._reporting():
            self.journal.record(StageBegun(self.order, attempt, stage, self.usage()))
            self.emit(StageStarted(self.order, attempt, stage))

    def fail_attempt(self, attempt: int, brief: FailureBrief, next_step: str) -> None:
        """Record and announce that an attempt failed, and announce what happens next.

        Raises `Interrupted` if the order was cancelled.
        """
        failed = AttemptFailed(
            order=self.order,
            attempt=attempt,
            stage=brief.stage,
            command=brief.command or "",
            exit_code=brief.exit_code,
            excerpt=brief.primary_error_excerpt,
            next_step=next_step,
            facts=brief.facts,
        )
        failure = abridged(brief.failure)
        with self._reporting():
            self.journal.record(FailedAttempt(self.order, attempt, failure, self.usage()))
            self.emit(failed)

    def check_cancelled(self) -> None:
        """Raise `Interrupted` if the order was cancelled."""
        if self.is_cancelled():
            raise Interrupted("cancelled")

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        with self.reporting:
            self.check_cancelled()
            yield


def abridged(failure: Failure) -> Failure:
    """Return what the journal records of a failure, with an excerpt of a few lines.

    Neither the excerpt nor the remedy contains secrets.
    """
    excerpt, remedy = short_excerpt(failure.excerpt), short_excerpt(failure.remedy)
    return replace(failure, excerpt=excerpt, remedy=remedy)


def short_excerpt(text: str) -> str:
    """Return the last few lines of `text` that are not blank, without secrets.

    Commands print the cause of a failure at the end.
    """
    safe = redact(text, secret_values(os.environ))
    lines = [line for line in safe.splitlines() if line.strip()]
    return "\n".join(lines[-_EXCERPT_LINES:])[-_EXCERPT_CHARACTERS:]
