"""Reads the summaries of pytest and unittest. Pure."""

from __future__ import annotations

import re

from factory.judging.counting.counted import Counted, add_up, lines_with, matches, numbers_by_word

_PYTEST = re.compile(r"=* ?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+|no tests ran) in [\d.]+s")
_PYTEST_WORDS = {"passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed"} | {
    "deselected",
    "warning",
    "warnings",
}
_PYTEST_NAME = re.compile(r"(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")
_UNITTEST = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s$")
_UNITTEST_RESULT = re.compile(r"(?:OK|FAILED) \((.*)\)$")
_UNITTEST_PART = re.compile(r"([a-z ]{1,40})=(\d{1,9})")
_UNITTEST_NAME = re.compile(r"(?:FAIL|ERROR): (\S.*)$")


def read_pytest(text: str) -> Counted | None:
    """Return the sum of pytest's summaries. A test that is expected to fail counts as skipped."""
    runs = []
    for found in matches(text, " in ", _PYTEST):
        numbers = numbers_by_word(found[1])
        if numbers.keys() & _PYTEST_WORDS or not numbers:
            runs.append(
                Counted(
                    numbers.get("passed", 0) + numbers.get("xpassed", 0),
                    sum(numbers.get(word, 0) for word in ("failed", "error", "errors")),
                    numbers.get("skipped", 0) + numbers.get("xfailed", 0),
                )
            )
    if not runs:
        return None
    marked = (*matches(text, "FAILED ", _PYTEST_NAME), *matches(text, "ERROR ", _PYTEST_NAME))
    return add_up((*runs, Counted(names=frozenset(each[1] for each in marked))))


def read_unittest(text: str) -> Counted | None:
    """Return the sum of unittest's summaries. A test that is expected to fail counts as skipped."""
    ran = [int(found[1]) for found in matches(text, "Ran ", _UNITTEST)]
    if not ran:
        return None
    numbers: dict[str, int] = {}
    results = (
        *matches(text, "OK (", _UNITTEST_RESULT),
        *matches(text, "FAILED (", _UNITTEST_RESULT),
    )
    for found in results:
        for part in found[1].split(", "):
            if each := _UNITTEST_PART.fullmatch(part):
                numbers[each[1]] = numbers.get(each[1], 0) + int(each[2])
    failed = sum(numbers.get(word, 0) for word in ("failures", "errors", "unexpected successes"))
    skipped = numbers.get("skipped", 0) + numbers.get("expected failures", 0)
    marked = (
        _UNITTEST_NAME.match(each)
        for word in ("FAIL: ", "ERROR: ")
        for each in lines_with(text, word)
    )
    names = frozenset(each[1] for each in marked if each) if failed else frozenset[str]()
    # The error of a fixture belongs to no test that ran, so the parts may exceed the whole.
    return Counted(max(0, sum(ran) - failed - skipped), failed, skipped, names)
