"""Options of one command line, passed on to the verb that a server runs for a client."""

from __future__ import annotations

import pytest

from llmch.entry.command_line import find_verb, parser_of

MCP = parser_of("mcp", find_verb("mcp"))


def passed_on(verb: str, *words: str, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    target = parser_of(verb, find_verb(verb))
    return MCP.words_for(target, MCP.parse_args(words), without)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), ()),
        (("--sandbox", "off"), ("--sandbox=off",)),
        (("--push",), ("--push",)),
        (("--no-push",), ("--no-push",)),
        (("--no-strict-acceptance",), ("--no-strict-acceptance",)),
        (("--verify", "a b", "--verify=--x"), ("--verify=a b", "--verify=--x")),
        (("--allow-red", "--jobs", "3"), ("--jobs=3", "--allow-red")),
        (("--planner-model", "big"), ()),
        (("--max-cost", "5", "--artifacts-dir", "r"), ("--artifacts-dir=r",)),
    ],
)
def test_what_a_verb_knows_is_passed_on_as_it_was_given(
    given: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    known = passed_on("run-all", *given, without=("--max-cost",))
    assert sorted(known) == sorted(expected)


def test_the_attempts_of_a_plan_and_of_its_orders_are_one_option() -> None:
    given = ("--max-attempts", "2")
    assert passed_on("plan", *given) == passed_on("run-all", *given) == ("--max-attempts=2",)


def test_what_is_passed_on_means_the_same_to_the_verb() -> None:
    given = ("--sandbox-read", "/a", "--sandbox-read=--b", "--deps", "auto", "--timeout-seconds=9")
    verb = parser_of("run-all", find_verb("run-all"))
    args = verb.parse_args(["--workdir", "p", *passed_on("run-all", *given)])
    own = MCP.parse_args(given)
    for name in ("sandbox.read", "deps", "timeout_seconds", "push", "allow_dirty"):
        assert getattr(args, name) == getattr(own, name)
