"""What the bench of models measured is kept whole, and summed up in tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.model.figures import Rate, latest, rows_of
from benchmarks.model.results import Result, append_result, read_results
from benchmarks.model.table import render_tables
from shared.errors import InvalidInput


def result(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "model": "small-1",
        "variant": "run",
        "task": "one function",
        "kind": "function",
        "passed": True,
        "failures": (),
        "input_tokens": 100,
        "output_tokens": 10,
        "seconds": 1.5,
    }
    return Result(**fields | changes)


@given(
    st.lists(
        st.builds(
            Result,
            model=st.text(),
            variant=st.text(),
            task=st.text(),
            kind=st.text(),
            passed=st.booleans(),
            failures=st.lists(st.text()).map(tuple),
            input_tokens=st.integers(),
            output_tokens=st.integers(),
            seconds=st.floats(allow_nan=False, allow_infinity=False),
            repeated=st.integers(),
            calls=st.integers(),
            prompt=st.text(),
            texts=st.lists(st.text()).map(tuple),
        ),
        max_size=4,
    ),
    st.binary(max_size=20).filter(lambda data: b"\n" not in data),
)
def test_results_are_read_back_also_after_a_line_that_was_cut_off(
    tmp_path_factory: pytest.TempPathFactory, results: list[Result], rest: bytes
) -> None:
    file = tmp_path_factory.mktemp("results") / "results.jsonl"
    for each in results:
        append_result(file, each)
        with file.open("ab") as opened:
            opened.write(rest)
    assert read_results(file) == results


@pytest.mark.parametrize("line", ["no JSON", "{}", "[]", '{"model": "m"}', "3"])
def test_a_line_that_is_no_result_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "results.jsonl"
    append_result(file, result())
    with file.open("a") as opened:
        opened.write(f"{line}\n")
    with pytest.raises(InvalidInput, match="line 2 is not a result"):
        read_results(file)


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    # From R's prop.test(x, n, correct = FALSE), to three places.
    [(Rate(10, 12), 0.552, 0.953), (Rate(0, 10), 0.0, 0.278), (Rate(50, 100), 0.404, 0.596)],
)
def test_intervals_are_wilson_s(rate: Rate, low: float, high: float) -> None:
    assert [round(each, 3) for each in rate.interval] == [low, high]


@given(st.integers(1, 2000).flatmap(lambda n: st.builds(Rate, st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_rate_and_is_a_part_of_0_to_1(rate: Rate) -> None:
    low, high = rate.interval
    assert 0 <= low <= rate.passed / rate.n + 1e-12
    assert rate.passed / rate.n - 1e-12 <= high <= 1
    assert low < high


def test_passes_count_from_the_attempt_that_passed_and_tokens_of_all_calls_are_shared() -> None:
    failed = ("verify_failed", "acceptance_failed", "acceptance_failed")
    results = [
        result(),
        result(task="two", failures=("acceptance_failed",), repeated=1, calls=2),
        result(task="three", passed=False, failures=failed, input_tokens=500, calls=3),
    ]
    (row,) = rows_of(results)
    assert [rate.passed for rate in row.within] == [1, 2, 2]
    assert {rate.n for rate in row.within} == {3}
    assert (row.input_per_pass, row.output_per_pass) == (350, 15)
    assert (row.calls, row.repeated) == (6, 1)
    assert row.failures == (("acceptance_failed", 3), ("verify_failed", 1))


def test_the_last_result_of_a_measurement_counts() -> None:
    assert latest([result(passed=False), result(task="two"), result()]) == [
        result(),
        result(task="two"),
    ]


def test_prompts_and_runs_have_tables_of_their_own() -> None:
    prompt = result(variant="plain", passed=False, failures=("tests",))
    other = result(model="other", kind="edit")
    assert render_tables(rows_of([result(), prompt, other])) == (
        "| model | tasks | prompt | n | passed | tokens in, out per pass | failed replies |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| small-1 | function | plain | 1 | 0 (0% to 79%) | none passed | 1 tests |\n"
        "\n"
        "| model | tasks | variant | n | passed at attempt 1 | within 2 | within 3 "
        "| tokens in, out per pass | calls | repeated | failed attempts |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| other | edit | run | 1 | 1 (21% to 100%) | 1 (21% to 100%) | 1 (21% to 100%) "
        "| 100, 10 | 1 | 0 | none |\n"
        "| small-1 | function | run | 1 | 1 (21% to 100%) | 1 (21% to 100%) | 1 (21% to 100%) "
        "| 100, 10 | 1 | 0 | none |\n"
    )


def test_nothing_measured_is_no_table() -> None:
    assert render_tables(rows_of([])) == ""
