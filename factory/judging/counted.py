"""Counts the failures that the output of a test run lists, so that two runs can be compared. Pure.

The outputs of pytest, unittest and compileall are understood. Any other output has no count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# pytest's own words where it did not run all tests, so that its list says nothing of the others.
_INCOMPLETE = re.compile(r"^(!+ (Interrupted|stopping after|_pytest)|INTERNALERROR>)", re.MULTILINE)
_PYTEST_SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s", re.MULTILINE)
_PYTEST_COUNT = re.compile(r"(\d+) (?:failed|errors?)\b")
_PYTEST_NAME = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
_UNITTEST_SUMMARY = re.compile(r"^FAILED \((.*)\)$", re.MULTILINE)
_UNITTEST_COUNT = re.compile(r"(?:failures|errors|unexpected successes)=(\d+)")
_UNITTEST_NAME = re.compile(r"^(?:FAIL|ERROR): (\S.*)$", re.MULTILINE)
_COMPILE_NAME = re.compile(r"^\*\*\* Error compiling '(.+)'\.\.\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Failures:
    """Hold how many tests (or files) failed, and the names of those that the output lists."""

    count: int
    names: frozenset[str]

    @property
    def all_named(self) -> bool:
        """Return whether each failure has its name, so that two runs can be compared by name."""
        return len(self.names) == self.count


def count_failures(output: str) -> Failures | None:
    """Return the failures in the output of a failed command; `None` where nothing counts them.

    A test run that ended early has no count, because tests that did not run may fail as well.
    """
    text = _COLOUR.sub("", output)
    if _INCOMPLETE.search(text):
        return None
    unittest = _UNITTEST_SUMMARY.search(text) is not None
    names = frozenset(_names(text, unittest=unittest))
    count = max(sum(_counts(text)), len(names))
    return Failures(count, names) if count else None


def _names(text: str, *, unittest: bool) -> Iterator[str]:
    yield from _COMPILE_NAME.findall(text)
    if unittest:
        yield from _UNITTEST_NAME.findall(text)
    if _PYTEST_SUMMARY.search(text):
        yield from _PYTEST_NAME.findall(text)


def _counts(text: str) -> Iterator[int]:
    yield len(_COMPILE_NAME.findall(text))
    for summary in _PYTEST_SUMMARY.findall(text):
        yield from map(int, _PYTEST_COUNT.findall(summary))
    for summary in _UNITTEST_SUMMARY.findall(text):
        yield from map(int, _UNITTEST_COUNT.findall(summary))
