"""Inputs on which generated tests failed are read from what the libraries really print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.property_tests import find_counterexamples
from tests.factory.judging.test_outputs import NOISE, output

PRINTED = {
    "hypothesis": [
        "test_round_trip(rows=[[',']], n=0)",
        "test_two(n=51)",
        "test_many(n=-51)",
        "test_many(n=51)",
    ],
    "fast_check": ['round trip: [[",",""],0]', "bool: [10]"],
    "go_quick": ["TestRoundTrip: 0x7, 0x2c", "TestEqual: 82. Output 1: 82. Output 2: 3"],
    "proptest": ['round_trip: rows = [ ",", ], n = 0'],
    "pytest": [],
    "node_test": [],
    "go_test": [],
    "cargo_test": [],
}


def inputs(lines: list[str]) -> list[str]:
    return [each.text for each in find_counterexamples(lines)]


@pytest.mark.parametrize("name", PRINTED)
def test_the_inputs_are_read_from_the_output_of_a_library(name: str) -> None:
    assert inputs([*NOISE, *output(name), *NOISE]) == PRINTED[name]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("E       AssertionError: Counterexample: [','] gives ['', '']", "[','] gives ['', '']"),
        ("AssertionError: Counterexample: 'a'", "'a'"),
        ("Counterexample: 'a'", "'a'"),
        ('    c_test.go:13: Counterexample: "a,b"', '"a,b"'),
        ("  error: 'Counterexample: \"a\"'", '"a"'),
        (r"  error: 'Counterexample: \'a\\n\#'", r"'a\n#"),
        ("  Error: Counterexample: []", "[]"),
        ("# Error [ERR_A]: Counterexample: []", "[]"),
        ("Falsifying example: test_old(n=0)", "test_old(n=0)"),
        ("Falsifying explicit example: test_old(n=0)", "test_old(n=0)"),
        ("[quickcheck] TEST FAILED. Arguments: (0, 1)", "(0, 1)"),
        ('>       raise AssertionError(f"Counterexample: {value!r}")', None),
        ("  throw new Error(`Counterexample: ${value}`);", None),
        ("FAILED test_a.py::test_b - AssertionError: Counterexample: [...", None),
        ("Counterexample: ", None),
        ("The Counterexample: is elsewhere", None),
    ],
)
def test_one_line_is_read_and_the_code_that_prints_it_is_not(text: str, found: str | None) -> None:
    assert inputs([text]) == ([found] if found else [])


def test_an_input_is_named_by_its_test_and_told_once() -> None:
    lines = ["--- FAIL: TestA (0.00s)", "    a_test.go:1: Counterexample: 1"]
    assert inputs([*lines, *lines, *NOISE, lines[1]]) == ["TestA: 1", "1"]
    assert inputs(["=== RUN   TestB", lines[1], lines[0]]) == ["TestB: 1"]


def test_an_input_of_many_lines_is_bounded() -> None:
    long = ["Falsifying example: test_a(", *["    a=[" + "0, " * 50] * 1000]
    (found,) = find_counterexamples(long)
    assert len(found.lines) <= 40


ODD = ["Falsifying example: test_a(", ")", "E   )", "minimal failing input: ", "    a=0,", ""]
ODD = [*ODD, "not ok 1 - a", "Counterexample: (", "  #1: failed on input 0"]


@given(
    st.lists(
        st.sampled_from(
            [
                "Falsifying example: test_a(",
                ")",
                "E   )",
                "minimal failing input: ",
                "    a=0,",
                "",
                "not ok 1 - a",
                "Counterexample: (",
                "  #1: failed on input 0",
            ]
        )
    )
)
def test_no_output_is_too_odd(lines: list[str]) -> None:
    for each in find_counterexamples(lines):
        assert 0 <= each.lines.start < each.lines.stop <= len(lines)
