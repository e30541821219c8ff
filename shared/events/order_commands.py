"""Defines what happens to the commands that judge a work order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shared.events.event import Event


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
