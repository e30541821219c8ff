"""Defines the events that any command may emit for a person to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shared.events.event import Event


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """Warn the user of something that does not stop the command."""

    kind: ClassVar[str] = "warned"
    message: str


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """Report a fact that is worth one line: which sandbox holds, where replies come from."""

    kind: ClassVar[str] = "noted"
    message: str
