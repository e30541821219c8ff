"""Defines what happens during one attempt at a work order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shared.events.event import Event


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

    `reason` is `unreadable`, `unchanged`, `repeated` or `hollow`; `note` is what the model is told.
    """

    kind: ClassVar[str] = "model_asked_again"
    order: str
    attempt: int
    reason: str
    note: str


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
