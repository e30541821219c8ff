"""Each stage of failure names one thing to do next, and a command where one helps."""

from __future__ import annotations

import re

import pytest

from factory.orders.next_step import next_step
from factory.orders.stages import Stage
from llmch.entry.parsing import find_verb, parser_of

EXPECTED = {
    Stage.PREFLIGHT: "check",
    Stage.EXCEPTION: "retry",
    Stage.LLM_OUTPUT_INVALID: "retry",
    Stage.REPEATED: "retry",
    Stage.WRITE_SCOPE_VIOLATION: "retry",
    Stage.STALE_CONTEXT: "retry",
    Stage.CONTRACT_VIOLATED: "retry",
    Stage.VERIFY_FAILED: "retry",
    Stage.ACCEPTANCE_FAILED: "retry",
    Stage.WRITE_FAILED: "",
    Stage.ENVIRONMENT: "",
}


def test_each_stage_has_an_expectation() -> None:
    assert EXPECTED.keys() == set(Stage)


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_names_at_most_one_command_that_there_is(stage: Stage) -> None:
    said = next_step(stage, "WO-02", place=" --repo x")
    assert said
    commands = re.findall("`llmch ([^`]*)`", said)
    assert [each.split()[0] for each in commands] == [each for each in (EXPECTED[stage],) if each]
    for each in commands:
        verb, *words = each.split()
        parser_of(verb, find_verb(verb)).parse_args(words)


def test_a_remedy_goes_first() -> None:
    assert next_step(Stage.ENVIRONMENT, "WO-02", remedy="install tool") == "install tool"


def test_an_error_says_itself_what_to_do() -> None:
    assert next_step("error", "WO-02") == ""
