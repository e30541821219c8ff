"""Reads the files of a run within bounds; what cannot be read is empty."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from factory.record.runs_on_record import read_object
from llmch.run_view.fields import Fields
from shared.errors import InvalidInput
from shared.files.strict_json import MAX_DOCUMENT_BYTES
from shared.files.text_input import read_regular_file

_MOST_EVENT_BYTES = 64 * 1024 * 1024  # of one run; 200 orders of five attempts leave four
_MOST_ITEMS = 1_000


def read_fields(path: Path) -> Fields:
    """Return the object in a JSON file."""
    return Fields(read_object(path))


def read_list(path: Path) -> tuple[Fields, ...]:
    """Return the objects in the list of a JSON file, at most 1,000."""
    try:
        value = json.loads(read_regular_file(path, "record", MAX_DOCUMENT_BYTES).data)
    except (InvalidInput, ValueError, RecursionError):
        return ()
    found = value if isinstance(value, list) else []
    return tuple(Fields(each) for each in found[:_MOST_ITEMS] if isinstance(each, dict))


def read_lines(path: Path) -> Iterator[Fields]:
    """Yield the objects of a file that has one on each line; the last line may be cut off."""
    try:
        data = read_regular_file(path, "record", _MOST_EVENT_BYTES).data
    except InvalidInput:
        return
    for line in data.split(b"\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield Fields(value)
