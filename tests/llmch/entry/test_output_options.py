"""How to print is an option like any other, and known before the rest can be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmch.entry.parsing import output_arguments
from tests.llmch.command_line import Say

OPTIONS = {
    "--json": "json",
    "--markdown": "markdown",
    "--quiet": "quiet",
    "--verbose": "verbose",
    "--no-color": "no_color",
}
NEUTRAL = [
    "plan",
    "--spec",
    "x",
    "--frobnicate",
    "-h",
    "-x",
    "--json=1",
    "--branch=--json",
    "=",
    "",
]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "E1", "--json"],
        ["explain", "--json", "E1"],
        ["explain", "--frobnicate", "--json"],
        ["frobnicate", "--json"],
        ["run", "--max-attempts", "many", "--json"],
        # argparse takes what looks like an option for one: the branch has no value here.
        ["run", "--branch", "--json"],
    ],
)
def test_a_usage_error_is_a_document_where_json_is_asked_for(
    say: Say, arguments: list[str]
) -> None:
    said = say(*arguments)
    assert (said.code, said.error["name"], said.err) == (2, "INVALID", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "--", "--json"],
        ["explain", "--json=yes"],
        ["explain", "E1", "--jso"],
        ["run", "--branch=--json"],
        ["explain", "E1", "--", "--json"],
    ],
)
def test_what_is_no_such_option_asks_for_no_json(say: Say, arguments: list[str]) -> None:
    said = say(*arguments)
    assert said.code == 2
    assert said.err.startswith("error: ")
    assert said.out == ""


def test_a_value_given_to_an_option_that_takes_none_is_refused_as_json_where_asked(
    say: Say,
) -> None:
    said = say("explain", "--quiet=yes", "--json")
    assert "--quiet" in said.error["message"]


def in_force(arguments: list[str]) -> Iterator[str]:
    """Yield the options as a command line has them: before `--`, each an argument of its own."""
    for each in arguments:
        if each == "--":
            return
        if each in OPTIONS:
            yield OPTIONS[each]


@given(st.lists(st.sampled_from([*OPTIONS, *NEUTRAL, "--"]) | st.text(max_size=8)))
@example(["--", "--json"])
@example(["--json=1", "--quiet=", "--verbose"])
def test_an_option_is_found_wherever_it_stands(arguments: list[str]) -> None:
    found = vars(output_arguments(arguments))
    assert {name for name, given_ in found.items() if given_} == set(in_force(arguments))
