"""Repeats on the coordinator what a worker announced and recorded of a step."""

from __future__ import annotations

from pathlib import Path

from factory.fleet.carried_files import unpack
from factory.fleet.wire import OutcomeDocument
from factory.record.journal import Journal
from factory.record.journal_entries import FailedAttempt, StageBegun
from factory.record.journal_format import parse_entry
from shared.events.event import Emit
from shared.events.from_json import event_from_json


def replay(outcome: OutcomeDocument, folder: Path, journal: Journal, emit: Emit) -> None:
    """Write the step's files into the order's folder, record its entries, emit its events."""
    unpack(outcome.files, folder)
    for line in outcome.entries:
        entry = parse_entry(line.encode())
        if isinstance(entry, StageBegun | FailedAttempt):
            journal.record(entry)
    for document in outcome.events:
        if event := event_from_json(document):
            emit(event)
