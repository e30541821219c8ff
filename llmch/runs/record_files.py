"""Reads the files of a run that quote models, within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from llmch.runs.run_model import CallView, Excerpt
from shared.errors import InvalidInput
from shared.files.text_sources import read_regular_file

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
    """Return the beginning and the end of a file; `None` if it cannot be read."""
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
