"""Reads events again that were kept, or that came from another machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from shared.events import attempts, messages, model_calls, order_commands, orders, plans
from shared.events.event import Event

# A hostile row may name any number of kinds.
_MOST_KINDS = 100
_MODULES = (attempts, messages, model_calls, order_commands, orders, plans)


def event_from_json(document: Mapping[str, Any]) -> Event | None:
    """Return the event that `event_to_json` made the document of; `None` if it is not one.

    An event is shown or not, and nothing depends on it, so one of another version is no error.
    """
    from pydantic import ValidationError

    fields = dict(document)
    adapter = _adapter(str(fields.pop("event", "")))
    if adapter is None:
        return None
    try:
        event: Event = adapter.validate_python(fields)
    except ValidationError:
        return None
    return event


@lru_cache(_MOST_KINDS)
def _adapter(kind: str) -> Any:
    """Return what reads the events of a kind; `None` for an unknown kind."""
    from pydantic import TypeAdapter

    found = next((each for each in _events() if each.kind == kind), None)
    return None if found is None else TypeAdapter(found)


def _events() -> Iterator[type[Event]]:
    for module in _MODULES:
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Event) and each is not Event:
                yield each
