"""Says what an event is, where events go, and how they are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar


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
