"""Reads files and fields of a run's records within bounds, whatever they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, Final

from factory.record.runs_on_record import read_object
from llmch.runs.run_model import CallView, Excerpt
from shared.errors import InvalidInput
from shared.files.strict_documents import MAX_DOCUMENT_BYTES
from shared.files.text_sources import read_regular_file

_OBJECT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_TOO_LARGE = 10**15  # no duration, count or cost of a run comes near


@dataclass(frozen=True, slots=True)
class Fields:
    """Hold a JSON object and give its fields by the type that is wanted.

    A field that is missing or of another type is an empty one of the wanted type, or `None`.
    """

    value: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.value)

    def text(self, name: str) -> str:
        """Return the text of a field, "" where there is none."""
        found = self.value.get(name)
        return found if isinstance(found, str) else ""

    def object_id(self, name: str) -> str:
        """Return the id of a git object in a field; nothing else, so git cannot take it wrong."""
        found = self.text(name)
        return found if _OBJECT_ID.fullmatch(found) else ""

    def path(self, name: str) -> Path | None:
        """Return the path in a field, where it can be one."""
        found = self.text(name)
        return Path(found) if found and "\0" not in found else None

    def number(self, name: str) -> float | None:
        """Return the finite number of a field."""
        found = self.value.get(name)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        return float(found) if abs(found) < _TOO_LARGE and isfinite(found) else None

    def whole(self, name: str) -> int | None:
        """Return the whole number of a field."""
        found = self.number(name)
        return int(found) if found is not None else None

    def is_true(self, name: str) -> bool:
        """Return whether a field is `true`."""
        return self.value.get(name) is True

    def fields(self, name: str) -> Fields:
        """Return the object of a field."""
        return fields_of(self.value.get(name))

    def many(self, name: str) -> tuple[Fields, ...]:
        """Return the objects in the list of a field."""
        return tuple(Fields(each) for each in self._list(name) if isinstance(each, dict))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts in the list of a field."""
        return tuple(each for each in self._list(name) if isinstance(each, str))

    def _list(self, name: str) -> Iterator[Any]:
        found = self.value.get(name)
        return iter(found if isinstance(found, list) else ())


def fields_of(value: object) -> Fields:
    """Return the fields of a JSON value; none where it is not an object."""
    return Fields(value) if isinstance(value, dict) else Fields()


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


_HEAD_BYTES: Final = 16_000
_TAIL_BYTES: Final = 8_000
_MOST_CALLS: Final = 20  # of an attempt; a model is asked three times at most
_AGAIN: Final = re.compile(r"se_prompt(_again_[0-9]{1,3})?\.txt")
_PLANNERS: Final = "prompt_attempt_{0}.txt", "llm_raw_response_attempt_{0}.txt"
_REASONING: Final = "llm_reasoning_attempt_{0}.txt"
_REVIEWERS: Final = "reviewer_prompt{0}.txt", "reviewer_response{0}.json"


def calls_of_attempt(folder: Path, records: Path) -> tuple[CallView, ...]:
    """Return the calls of an attempt at an order; `records` is the folder of the run."""
    names = (each.name for each in folder.iterdir()) if folder.is_dir() else ()
    found = filter(None, map(_AGAIN.fullmatch, names))
    again = sorted((each[1] or "" for each in found), key=lambda each: (len(each), each))
    pairs = ((f"se_prompt{each}.txt", f"raw_llm_response{each}.txt") for each in again)
    return tuple(_calls(islice(pairs, _MOST_CALLS), folder, records))


def calls_of_plan_attempt(folder: Path, number: int, records: Path) -> tuple[CallView, ...]:
    """Return the call of an attempt at the plan, with its reasoning; none without a record."""
    prompt, reply = (each.format(number) for each in _PLANNERS)
    reasoning = excerpt_of(folder / _REASONING.format(number), records)
    return tuple(
        CallView(each.prompt, each.reply, reasoning if reasoning and reasoning.head else None)
        for each in _calls([(prompt, reply)], folder, records)
    )


def calls_of_review(folder: Path, number: int, records: Path) -> tuple[CallView, ...]:
    """Return the call of a round of review; none without a record."""
    suffix = "" if number == 1 else f"_{number}"
    prompt, reply = (each.format(suffix) for each in _REVIEWERS)
    return tuple(_calls([(prompt, reply)], folder, records))


def _calls(pairs: Iterable[tuple[str, str]], folder: Path, records: Path) -> Iterator[CallView]:
    for prompt, reply in pairs:
        asked = excerpt_of(folder / prompt, records)
        if asked is not None:
            yield CallView(asked, excerpt_of(folder / reply, records))


def excerpt_of(path: Path, records: Path) -> Excerpt | None:
    """Return the beginning and the end of a file; `None` where it cannot be read."""
    name = str(path.relative_to(records)) if path.is_relative_to(records) else path.name
    both = _HEAD_BYTES + _TAIL_BYTES
    try:
        found = read_regular_file(path, "record", both)
        if found.size <= both:
            return Excerpt(_text(found.data), path=name)
        end = read_regular_file(path, "record", _TAIL_BYTES, skipped=found.size - _TAIL_BYTES)
    except InvalidInput:
        return None
    head = found.data[:_HEAD_BYTES]
    return Excerpt(_text(head), _text(end.data), found.size - len(head) - len(end.data), name)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
