"""What real tools print is told as facts; `outputs` has what they printed, and the facts.

Each `NAME.txt` is the output of a tool that ran in `/w/repo`, and `NAME.facts` has one fact a line.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.judging.contract import TOOLS
from factory.judging.failure_brief import find_failures, select_lines, stable_text
from factory.orders.documents import MAX_EXCERPT_CHARACTERS
from shared.languages.ecmascript.node_commands import NODE_TOOLS as NODE
from shared.languages.ecmascript.node_commands import TSC_TOOLS as TYPESCRIPT
from shared.languages.go.go_commands import TOOLS as GO
from shared.languages.python.python_reports import TOOLS as PYTHON
from shared.languages.rust.rust_commands import TOOLS as RUST

OUTPUTS = Path(__file__).with_name("failure_outputs")
NAMES = sorted(each.stem for each in OUTPUTS.glob("*.txt"))
NOISE = [f"note {number}: all is well here, as far as this line knows" for number in range(200)]


def output(name: str) -> list[str]:
    text = (OUTPUTS / f"{name}.txt").read_text("utf-8")
    return stable_text(text, [("/w/repo/", "")]).split("\n")


def facts(lines: list[str]) -> list[str]:
    return [each.fact for each in find_failures(lines) if each.fact]


@pytest.mark.parametrize("name", NAMES)
def test_the_output_of_a_tool_is_told_as_facts(name: str) -> None:
    assert facts(output(name)) == (OUTPUTS / f"{name}.facts").read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_the_lines_that_matter_stay_whole_in_the_middle_of_a_long_output(name: str) -> None:
    lines = [*NOISE, *output(name), *NOISE]
    found = [*find_failures(lines)]
    assert [each.fact for each in found if each.fact] == facts(output(name))
    excerpt = select_lines("\n".join(lines), [each.lines for each in found])
    assert len(excerpt) <= MAX_EXCERPT_CHARACTERS
    assert "\n".join(lines[each] for each in found[0].lines) in excerpt
    assert {*excerpt.split("\n")} <= {*lines, "[... cut ...]"}
    assert NOISE[-1] in excerpt


def test_every_tool_has_an_output() -> None:
    lines = [line for name in NAMES for line in output(name)]
    tools = (*TOOLS, *NODE, *TYPESCRIPT, *GO, *RUST, *PYTHON)
    assert [each.head for each in tools if not any(map(each.head.match, lines))] == []


LINES = [line for name in NAMES for line in output(name)]


@given(st.lists(st.sampled_from(LINES) | st.text(max_size=60)))
def test_any_lines_in_any_order_can_be_read(lines: list[str]) -> None:
    taken: list[int] = []
    for each in find_failures(lines):
        assert each.lines
        taken += each.lines
    assert len(taken) == len({*taken})
    assert all(0 <= number < len(lines) for number in taken)


@pytest.mark.parametrize(
    "line", ["|" + "-" * 60_000, "a" * 60_000, "a:1:" * 20_000, "x: " * 20_000, "( " * 30_000]
)
def test_a_line_of_any_length_is_read_at_once(line: str) -> None:
    """A pattern that takes quadratic time would not come back within minutes."""
    assert [*find_failures(["error: x", " --> a.rs:1:1", *[line] * 20])]


def test_a_place_before_the_last_line_of_a_report_is_enough() -> None:
    lines = [
        "____ test_a ____",
        ">       assert 1 == 2",
        "E       assert 1 == 2",
        "",
        "test_a.py:3: AssertionError",
        "----- Captured stdout call -----",
        "E",
        "==== short test summary info ====",
    ]
    (found,) = find_failures(lines)
    assert "test_a.py" in found.fact


@pytest.mark.rest
@pytest.mark.parametrize(
    "lines",
    [
        ["a"],
        ['  File "a.py", line 1, in f'],
        ["Traceback (most recent call last):"],
        ["_____ test_a _____"],
        ["E   x", "> x"],
        ["error: x", " --> a"],
        ["Error", "    at x"],
        ["--- FAIL: x", "panic: x"],
    ],
)
def test_as_many_lines_as_are_kept_are_read_in_a_moment(lines: list[str]) -> None:
    """Reading that takes quadratic time would not come back within minutes."""
    found = [*find_failures(lines * (60_000 // len(lines)))]
    assert len(found) < 60_000
