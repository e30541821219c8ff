"""Repeats on the coordinator what a worker announced and recorded of a step."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from factory.fleet.wire import OutcomeDocument
from factory.record.journal import Journal
from factory.record.journal_entries import FailedAttempt, StageBegun
from factory.record.journal_format import parse_entry
from shared.events import attempts, messages, model_calls, order_commands
from shared.events.event import Emit, Event
from shared.files.atomic_io import make_folder, write_bytes

_MODULES = (attempts, messages, model_calls, order_commands)


def replay(outcome: OutcomeDocument, folder: Path, journal: Journal, emit: Emit) -> None:
    """Write the step's files into the order's folder, record its entries, emit its events."""
    for path, content in outcome.files.items():
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts:
            continue  # a worker names only files of the order's folder
        target = folder / parts
        make_folder(target.parent)
        write_bytes(target, base64.b64decode(content), sync=False)
    for line in outcome.entries:
        entry = parse_entry(line.encode())
        if isinstance(entry, StageBegun | FailedAttempt):
            journal.record(entry)
    for event in _events(outcome.events):
        emit(event)


def _events(documents: tuple[Mapping[str, Any], ...]) -> Iterator[Event]:
    from pydantic import TypeAdapter, ValidationError

    kinds = {each.kind: each for module in _MODULES for each in _kinds_in(module)}
    for document in documents:
        fields = dict(document)
        if kind := kinds.get(str(fields.pop("event", ""))):
            try:
                yield TypeAdapter(kind).validate_python(fields)
            except ValidationError:
                continue  # an event is shown or not; nothing depends on it


def _kinds_in(module: object) -> Iterator[type[Event]]:
    for each in vars(module).values():
        if isinstance(each, type) and issubclass(each, Event) and each is not Event:
            yield each
