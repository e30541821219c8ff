"""How to print is an option like any other, and known before the rest can be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmch.console import Format
from llmch.entry.command_line import output_arguments
from tests.llmch.command_line import Say

OPTIONS = {
    "--json": ("output_format", "json"),
    "--markdown": ("output_format", "markdown"),
    "--output-format=json": ("output_format", "json"),
    "--output-format=text": ("output_format", "text"),
    "--quiet": ("quiet", True),
    "--verbose": ("verbose", True),
    "--no-color": ("no_color", True),
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
        ["explain", "E1", "--output-format", "json"],
        ["explain", "--output-format=json", "E1"],
        ["frobnicate", "--output-format", "json"],
        ["explain", "--output-format", "--json"],
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
        ["explain", "--output-format", "xml"],
        ["explain", "--output-format=", "E101"],
        ["explain", "--output-format"],
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


@pytest.mark.parametrize(
    ("first", "second"),
    [("--json", "--markdown"), ("--json", "--output-format=text"), ("--markdown", "--json")],
)
def test_two_formats_are_refused_in_words(say: Say, first: str, second: str) -> None:
    said = say("explain", "E101", first, second)
    assert said.code == 2
    name = second.partition("=")[0]
    assert f"argument {name}: not allowed with argument {first}" in said.out + said.err


@pytest.mark.parametrize("output", Format)
def test_a_format_has_a_long_form(say: Say, output: Format) -> None:
    short = [] if output is Format.TEXT else [f"--{output}"]
    expected = say("help", "exit-codes", *short)
    assert expected.code == 0
    assert say("help", "exit-codes", "--output-format", output) == expected
    assert say("help", "exit-codes", f"--output-format={output}") == expected


def test_an_unknown_format_is_refused_with_those_that_there_are(say: Say) -> None:
    said = say("explain", "--output-format", "xml")
    assert "'xml' (choose from 'text', 'json', 'markdown')" in said.err


def in_force(arguments: list[str]) -> Iterator[tuple[str, object]]:
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
    assert {name: value for name, value in found.items() if value} == dict(in_force(arguments))
