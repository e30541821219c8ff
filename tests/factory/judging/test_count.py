"""How many tests an output reports, for the outputs of real runners and for any text at all.

`outputs/documented.txt` holds outputs that were taken from the tools' documentation; all others are
what the tools printed. A section begins with its command.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factory.judging.count_tests import Counted, count_tests
from factory.judging.environment_faults import count_failures

_OUTPUTS = Path(__file__).with_name("count_outputs")


def sections(name: str) -> Iterator[tuple[str, str]]:
    text = (_OUTPUTS / f"{name}.txt").read_text()
    for section in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        command, _, output = section.partition("\n")
        yield command, output


Numbers = tuple[int, int, int] | None
"""Passed, failed, skipped."""

# The sections of each file, in their sequence.
NUMBERS: dict[str, list[Numbers]] = {
    "python": [
        (1, 1, 2),  # a failure, a skip and an expected failure
        (0, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
        (0, 0, 1),
        (0, 0, 1),
        (1, 1, 2),
        (0, 0, 0),
        None,  # --collect-only
        None,
        (1, 1, 2),  # -q -q prints no summary, and a sign for each test
        (0, 3, 0),  # two of three tests also failed in their teardown
    ],
    "node": [(4, 1, 2), (4, 1, 2), (1, 0, 0), (0, 0, 1), (0, 0, 4), (0, 0, 4), (0, 0, 0), None],
    "javascript": [
        (1, 1, 2), (0, 0, 4), (1, 0, 3), (0, 0, 0), (0, 0, 0),  # jest
        (1, 1, 1), (0, 0, 0), (1, 0, 0),  # mocha
        (2, 1, 2), (0, 0, 5), (1, 0, 0), (0, 0, 0),  # vitest
        (0, 1, 2), (1, 0, 0), None,  # AVA
        (1, 1, 1), (0, 0, 1), (1, 0, 0), (0, 0, 0),  # uvu
    ],
    "go": [
        (1, 0, 0),
        (1, 0, 0),
        (2, 1, 0),
        (3, 1, 2),
        (0, 0, 0),
        (0, 0, 0),
        (3, 1, 2),
        (0, 0, 1),
        (1, 0, 0),
        (1, 0, 0),
    ],
    "cargo": [(2, 1, 1), (3, 1, 1), (0, 0, 0), (1, 0, 1), (1, 0, 1), None],
    "maven": [(1, 1, 1)],
    "ctest": [(1, 1, 1), (1, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 0)],
    "documented": [
        (7, 1, 1), (0, 0, 0),  # Maven
        (3, 1, 1), None, (0, 0, 0),  # Gradle
        (15, 2, 1), (2, 1, 1), (3, 0, 1), (2, 0, 1), (0, 0, 0), (0, 0, 0),  # dotnet
        (4, 1, 1), (5, 1, 0), (1, 0, 0),  # nextest, tox, tape
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "output", "numbers"),
    [
        pytest.param(command, output, numbers, id=f"{name}: {command}")
        for name in NUMBERS
        for (command, output), numbers in zip(sections(name), NUMBERS[name], strict=True)
    ],
)
def test_each_runner_is_understood(command: str, output: str, numbers: Numbers) -> None:
    found = count_tests(output)
    assert (found and (found.passed, found.failed, found.skipped)) == numbers, command


def test_what_go_does_not_list_is_the_least_that_ran() -> None:
    plain, listed = dict(sections("go"))["go test ./..."], dict(sections("go"))["go test -v ./..."]
    assert [each and each.exact for each in map(count_tests, (plain, listed))] == [False, True]


def test_several_runners_in_one_output_are_added_up() -> None:
    parts = [next(sections(name))[1] for name in ("python", "node", "go", "cargo", "javascript")]
    found = count_tests("\n".join(parts))
    assert found is not None
    assert (found.passed, found.failed, found.skipped) == (9, 4, 7)


@pytest.mark.parametrize(
    "output",
    ["", "all good", "Total tests: 5", "Tests: maybe, 3 total", "ok", "FAIL", "passed in 3s"],
)
def test_what_no_runner_wrote_is_not_counted(output: str) -> None:
    assert count_tests(output) is None


def test_failures_of_other_languages_are_named() -> None:
    failures = {name: count_failures(output) for name, output in sections("go")}
    plain = failures["go test ./..."]
    assert plain is not None
    names = {each.rpartition(".")[2] for each in plain.names}
    assert (plain.count, names) == (2, {"TestBad", "TestBad/inner"})
    assert all(each.startswith("example.com/m/") for each in plain.names)
    broken = count_failures("FAIL\texample.com/m/b [build failed]\nok  \texample.com/m/a\t0.01s\n")
    assert broken is not None
    assert broken.names == {"example.com/m/b"}


def test_a_run_that_cargo_or_a_panic_stopped_has_no_count_of_failures() -> None:
    stopped, whole = (output for _, output in list(sections("cargo"))[:2])
    assert count_failures(stopped) is None
    failures = count_failures(whole)
    assert failures is not None
    assert failures.names == {"bad"}
    assert count_failures("--- FAIL: TestX (0.00s)\npanic: no\nFAIL\tm\t0.01s\n") is None


_LINES = [line for name in NUMBERS for _, output in sections(name) for line in output.split("\n")]
_PIECES = st.one_of(st.sampled_from(_LINES), st.text(max_size=40))


@settings(deadline=None)
@given(st.lists(_PIECES, max_size=60), st.sampled_from(["\n", "\r\n", "", " "]))
def test_any_output_is_counted_without_an_error(pieces: list[str], separator: str) -> None:
    output = separator.join(pieces)
    found, failures = count_tests(output), count_failures(output)
    assert found is None or min(found.passed, found.failed, found.skipped) >= 0
    assert failures is None or failures.count >= len(failures.names)


@pytest.mark.parametrize(
    "unit",
    [
        "\n", "=", "1 a", "1 passed, ", " in ", "Ran 1 tests in 1s\n", "OK (a", "OK (a=1, b=2)\n",
        "# tests ", "Tests: 1 a, ", " Tests  1 a | ", "ok  \t", "ok  \tp\n", "--- PASS: T",
        "FAIL\t", '{"Package":"', "test result: ok. 1 passed; ", "Summary [] ", "Tests run: 1, ",
        "> Task :", "> Task :aT", "! - Failed: 1", ": 1\nTotal tests: ", "1% tests passed, ",
        "FAILED a - ", "\x1b[0", "!", "  1 - (Skipped)", "  1 passing (", "*** Error compiling '",
        "  Total:   1\n", "   FAIL  a",
    ],
)  # fmt: skip
def test_hostile_megabytes_take_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.process_time()
        count_failures(text)
        return time.process_time() - started

    small = max(min(seconds(100_000), seconds(100_000)), 0.01)
    assert seconds(1_600_000) < 80 * small


@pytest.mark.rest
def test_ten_megabytes_of_a_run_are_counted_whole() -> None:
    line = "test tests::adds ... ok\n"
    summary = "test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"
    found = count_tests((line * 100 + summary) * 4200)
    assert found is not None
    assert (found.passed, found.skipped) == (7 * 4200, 4200)


def test_a_result_of_go_counts_behind_what_its_test_printed() -> None:
    glued = "=== RUN   TestA\nguess> --- PASS: TestA (0.00s)\nPASS\nok  \tex\t0.002s\n"
    assert count_tests(glued) == Counted(1, 0, 0)
    told = "=== RUN   TestA\n    a_test.go:3: --- FAIL: TestX (0.00s)\n--- PASS: TestA (0.00s)\n"
    assert count_tests(f"{told}PASS\nok  \tex\t0.002s\n") == Counted(1, 0, 0)


def test_what_vitest_expects_to_fail_is_read() -> None:
    found = count_tests("      Tests  1 failed | 2 passed | 1 expected fail | 3 skipped (7)\n")
    assert found == Counted(2, 1, 4)
