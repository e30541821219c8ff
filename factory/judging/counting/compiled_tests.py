"""Reads the summaries of cargo, Maven, Gradle, dotnet and ctest. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from factory.judging.counting.counted import Counted, add_up, matches, numbers_by_word

_N = r"(\d{1,9})"
_CARGO = re.compile(rf"test result: \w+\. {_N} passed; {_N} failed; {_N} ignored; {_N} measured")
_CARGO_NAME = re.compile(r"test (\S.*) \.\.\. FAILED$")
_NEXTEST = re.compile(r" *Summary \[.*\] +\S+ tests? run: (.*)$")
_SUREFIRE = re.compile(
    rf"(?:\[\w+\] +)?Tests run: {_N}, Failures: {_N}, Errors: {_N}, Skipped: {_N}"
    r"(?:, Flakes: \d+)?$"
)
_SUREFIRE_NONE = re.compile(r"(?:\[\w+\] +)?No tests to run\.$")
_GRADLE = re.compile(rf"{_N} tests? completed(?:, {_N} failed)?(?:, {_N} skipped)?$")
_GRADLE_TASK = re.compile(r"> Task \S*:(?:[a-z]\w*T|t)est( [A-Z-]+)?$")
_DOTNET = re.compile(rf" *\w+! +- Failed: +{_N}, Passed: +{_N}, Skipped: +{_N}, Total:")
_DOTNET_SUMMARY = re.compile(
    rf" *Test summary: total: \d+, failed: {_N}, succeeded: {_N}, skipped: {_N}"
)
_DOTNET_LINE = re.compile(rf" +(failed|succeeded|skipped|Passed|Failed|Skipped): {_N}$")
_DOTNET_NONE = re.compile(r" *No test (?:is available in|matches the given testcase filter)")
_CTEST = re.compile(rf"\d+% tests passed, {_N} tests? failed out of {_N}$")
_CTEST_SKIPPED = re.compile(r"\s+\d+ - .* \(Skipped\)$")
_CTEST_NONE = re.compile(r"No tests were found!!!$")


def read_cargo(text: str) -> Counted | None:
    """Return the sum over the test binaries and doc tests of `cargo test`, and of nextest."""
    runs = [
        Counted(int(each[1]) + int(each[4]), int(each[2]), int(each[3]))
        for each in matches(text, "test result: ", _CARGO)
    ]
    for found in matches(text, "run: ", _NEXTEST):
        numbers = numbers_by_word(found[1])
        runs.append(
            Counted(numbers.get("passed", 0), numbers.get("failed", 0), numbers.get("skipped", 0))
        )
    names = frozenset(each[1] for each in matches(text, "... FAILED", _CARGO_NAME))
    return add_up((*runs, Counted(names=names))) if runs else None


def read_surefire(text: str) -> Counted | None:
    """Return the sum over the modules of a Maven build, without the lines of single classes."""
    runs = []
    for found in matches(text, "Tests run: ", _SUREFIRE):
        total, failures, errors, skipped = map(int, found.groups())
        failed = failures + errors
        runs.append(Counted(max(0, total - failed - skipped), failed, skipped))
    return _sum(runs, text, "No tests to run", _SUREFIRE_NONE)


def read_gradle(text: str) -> Counted | None:
    """Return what Gradle says of its test tasks: it counts their tests only where one fails.

    Where all test tasks passed, the result is `None`, and zero where none of them has a source.
    """
    runs = []
    for found in matches(text, " completed", _GRADLE):
        total, failed, skipped = (int(each or 0) for each in found.groups())
        runs.append(Counted(max(0, total - failed - skipped), failed, skipped, exact=False))
    tasks = list(matches(text, "> Task ", _GRADLE_TASK))
    if not runs and tasks and all(each[1] == " NO-SOURCE" for each in tasks):
        return Counted()
    return add_up(runs) if runs else None


def read_dotnet(text: str) -> Counted | None:
    """Return the sum of the summaries of `dotnet test`, in whichever form it prints them."""
    for words, pattern in (("! ", _DOTNET), ("Test summary: ", _DOTNET_SUMMARY)):
        runs = [
            Counted(int(each[2]), int(each[1]), int(each[3]))
            for each in matches(text, words, pattern)
        ]
        if runs:
            return add_up(runs)
    if "Test run summary: " in text or "Total tests: " in text:
        runs = [
            _dotnet_line(each[1].lower(), int(each[2]))
            for each in matches(text, ": ", _DOTNET_LINE)
        ]
        return add_up(runs) if runs else None
    return _sum([], text, "No test ", _DOTNET_NONE)


def _dotnet_line(word: str, number: int) -> Counted:
    match word:
        case "failed":
            return Counted(failed=number)
        case "skipped":
            return Counted(skipped=number)
        case _:
            return Counted(passed=number)


def read_ctest(text: str) -> Counted | None:
    """Return the sum of ctest's summaries. Its percentage counts skipped tests as passed."""
    runs = []
    for found in matches(text, "% tests passed", _CTEST):
        failed, all_tests = int(found[1]), int(found[2])
        runs.append(Counted(max(0, all_tests - failed), failed))
    skipped = sum(1 for _ in matches(text, "(Skipped)", _CTEST_SKIPPED))
    if runs and skipped:
        total = add_up(runs)
        runs = [Counted(max(0, total.passed - skipped), total.failed, skipped)]
    return _sum(runs, text, "No tests were found", _CTEST_NONE)


def _sum(runs: Sequence[Counted], text: str, words: str, none: re.Pattern[str]) -> Counted | None:
    """Return the sum of the runs; zero where there are none and a line says so."""
    if runs:
        return add_up(runs)
    return Counted() if any(matches(text, words, none)) else None
