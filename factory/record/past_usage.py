"""Reads what orders of earlier runs took, from the records of a repo's latest runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shared.errors import InvalidInput
from shared.files.strict_documents import JsonProblem, JsonValue, parse_json
from shared.files.text_sources import read_regular_file

# Enough for an average, and read in some milliseconds.
_RUNS = 20
_MAX_BYTES = 2_000_000
_MOST = 10**9
"""No order takes more calls or tokens: a larger number in a record is a fault of the record."""


@dataclass(frozen=True, slots=True)
class PastUsage:
    """Hold what `orders` orders of earlier runs took on average, and how much that varied.

    The deviations are standard deviations between orders.
    """

    orders: int
    calls_per_order: float
    reply_tokens: float
    """Output tokens of a call."""
    calls_deviation: float = field(default=0.0, compare=False)
    reply_deviation: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class _Sample:
    calls: int
    """The order's calls, with those of earlier attempts that a record answered."""
    live_calls: int
    output_tokens: int


def read_past_usage(artifacts: Path, repo: Path, model: str) -> PastUsage | None:
    """Return what the orders of `repo` took in its latest runs with `model` as the first model.

    The result is `None` without a record of such an order. Records that cannot be read
    are left out. Never raises.
    """
    samples = [
        sample
        for folder in _latest(artifacts / "factory")
        for sample in _samples(_read(folder / "run.json"), str(repo.resolve()), model)
    ]
    live = sum(each.live_calls for each in samples)
    if not live:
        return None
    replies = [each.output_tokens / each.live_calls for each in samples if each.live_calls]
    return PastUsage(
        orders=len(samples),
        calls_per_order=sum(each.calls for each in samples) / len(samples),
        reply_tokens=sum(each.output_tokens for each in samples) / live,
        calls_deviation=_deviation([each.calls for each in samples]),
        reply_deviation=_deviation(replies),
    )


def _deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; 0 if it has less than two values."""
    if len(values) < 2:
        return 0.0
    mean = sum(values) / len(values)
    return math.sqrt(sum((each - mean) ** 2 for each in values) / (len(values) - 1))


def _latest(folder: Path) -> list[Path]:
    """Return the folders of the latest runs: their names sort by the time they were made."""
    try:
        names = sorted((each.name for each in folder.iterdir()), reverse=True)
    except OSError:
        return []
    return [folder / name for name in names if not name.startswith(".")][:_RUNS]


def _read(path: Path) -> JsonValue:
    try:
        start = read_regular_file(path, "record", _MAX_BYTES)
        return parse_json(start.data) if start.size <= _MAX_BYTES else None
    except (InvalidInput, JsonProblem):
        return None


def _samples(document: JsonValue, repo: str, model: str) -> Iterator[_Sample]:
    match document:
        case {"repo": str(at), "model": str(asked), "summary": {"orders": list(orders)}}:
            summaries = orders
        case {"repo": str(at), "model": str(asked), "summary": dict(summary)}:
            summaries = [summary]
        case _:
            return
    if (at, asked) == (repo, model):
        yield from filter(None, map(_sample, summaries))


def _sample(summary: JsonValue) -> _Sample | None:
    """Return what an order took, and `None` if it did not end by itself or took nothing."""
    match summary:
        case {
            "state": "landed" | "failed",
            "attempts": attempts,
            "usage": {"calls": calls, "output_tokens": output},
        } if (calls := _figure(calls)) and (output := _figure(output)):
            return _Sample(max(calls, _figure(attempts)), calls, output)
        case _:
            return None


def _figure(value: JsonValue) -> int:
    """Return a count of calls or tokens; 0 if the value is not a count."""
    return value if type(value) is int and 0 < value <= _MOST else 0
