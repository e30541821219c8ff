"""Each stage of failure names one thing to do next, and a command where one helps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from factory.orders.stages import PlanAtHand, Stage, next_step
from llmch.entry.command_line import find_verb, parser_of

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
    Stage.IMPOSSIBLE: "plan",
    Stage.CONFLICT: "retry",
    Stage.WEAK_TESTS: "plan",
}


def test_each_stage_has_an_expectation() -> None:
    assert EXPECTED.keys() == set(Stage)


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_names_at_most_one_command_that_there_is(stage: Stage) -> None:
    said = next_step(stage, "WO-02", place=" --repo x", model=" --model m --proposer tools")
    assert said
    commands = re.findall("`llmch ([^`]*)`", said)
    assert [each.split()[0] for each in commands] == [each for each in (EXPECTED[stage],) if each]
    for each in commands:
        verb, *words = each.split()
        parser_of(verb, find_verb(verb)).parse_args(words)


@pytest.mark.parametrize("stage", [Stage.ENVIRONMENT, Stage.ACCEPTANCE_FAILED])
def test_a_remedy_goes_first(stage: Stage) -> None:
    assert next_step(stage, "WO-02", remedy="install tool") == "install tool"


def test_where_the_plan_is_wrong_the_command_that_takes_a_correction_is_named() -> None:
    folder = Path("my plans/shop")
    command = "`llmch check 'my plans/shop' --accept-edits`"
    wrong = next_step(Stage.PREFLIGHT, "WO-02", plan=PlanAtHand(folder))
    assert wrong == f"correct WO-02 and take the edit by {command}, or plan again"
    edited = next_step(Stage.PREFLIGHT, "WO-02", plan=PlanAtHand(folder, edited=True))
    assert edited == f"{command} takes what you edited in the plan"


def test_an_error_says_itself_what_to_do() -> None:
    assert next_step("error", "WO-02") == ""
