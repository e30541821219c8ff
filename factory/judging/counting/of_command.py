"""Counts the tests that a command ran, by the whole of its output."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from factory.judging.counting.count import count_tests
from factory.orders.verified_by import CountedTests
from factory.sandbox import Captured, Ended

# A log holds 8 MiB and its tail. What a log does not hold is not counted.
_MOST_READ: Final = 9 * 1024 * 1024


def tests_of(ended: Ended) -> CountedTests | None:
    """Return the tests that the command reported; `None` where no known test runner did.

    Summaries may be anywhere in an output, so the logs are read where memory holds only a part.
    """
    counted = count_tests("\n".join(map(_whole, (ended.stdout, ended.stderr))))
    cut = is_cut(ended)
    if counted is None or (cut and not counted.ran):
        return None
    at_least = cut or not counted.exact
    return CountedTests(
        passed=counted.passed, failed=counted.failed, skipped=counted.skipped, at_least=at_least
    )


def is_cut(ended: Ended) -> bool:
    """Return whether a part of the output is neither in memory nor in the log."""
    streams = (ended.stdout, ended.stderr)
    return any(each.truncated and each.total_bytes > _size(each.log) for each in streams)


def _whole(stream: Captured) -> str:
    if not stream.truncated:
        return stream.text
    try:
        with stream.log.open("rb") as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:  # the head and the tail are better than nothing
        return stream.text


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0
