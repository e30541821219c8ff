"""`llmch explain`: every code and every stage, with what it means and what to do."""

from __future__ import annotations

import pytest

from factory.orders.stages import AttemptStage, Stage
from llmch.entry.answers import rule_codes
from tests.llmch.command_line import Say

CODES = list(rule_codes())
KEYS = {"code", "title", "severity", "why", "bad", "good", "examples", "remedy"}


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(say: Say, code: str) -> None:
    said = say("explain", code)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(code)
    for part in ("Why: ", "Bad", "Good", "Remedy: "):
        assert f"\n{part}" in said.out


@pytest.mark.parametrize("code", CODES)
def test_json_has_the_whole_rule(say: Say, code: str) -> None:
    document = say("explain", code, "--json").document
    assert document.keys() == KEYS
    first = document["examples"][0]
    assert (document["bad"], document["good"]) == (first["bad"], first["good"])
    assert document["code"] == code
    assert document["severity"] == ("warning" if code.startswith("W") else "error")
    assert all(document.values())


def test_a_rule_that_languages_decide_has_an_example_of_each(say: Say) -> None:
    out = say("explain", "E211").out
    languages = ("Python", "JavaScript", "TypeScript", "Go", "Rust")
    assert all(f"\nBad in {each}:\n" in out for each in languages)
    assert all(f"\nGood in {each}:\n" in out for each in languages)
    document = say("explain", "E211", "--json").document
    assert [each["language"] for each in document["examples"]] == list(languages)


def test_without_a_code_all_are_listed(say: Say) -> None:
    said = say("explain")
    *rules, _, stages = said.out.splitlines()
    assert [line.split()[0] for line in rules] == CODES
    named = stages.removeprefix("stages: ").split(", ")
    assert sorted(named) == sorted([*Stage, *AttemptStage])
    listed = say("explain", "--json").document
    assert [each["code"] for each in listed["rules"]] == CODES
    assert listed["stages"] == named


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_of_a_failure_is_explained(say: Say, stage: Stage) -> None:
    said = say("explain", stage)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{stage}  (a stage of a failure)")
    assert ("Another attempt follows, up to --max-attempts." in said.out) is stage.retryable
    assert ("No other attempt follows." in said.out) is not stage.retryable
    assert "Remedy: " in said.out
    document = say("explain", stage, "--json").document
    assert document["another_attempt"] is stage.retryable
    assert all(document[each] for each in ("stage", "happened", "consequence", "remedy"))


@pytest.mark.parametrize("stage", AttemptStage)
def test_every_stage_of_an_attempt_is_explained(say: Say, stage: AttemptStage) -> None:
    assert say("explain", stage).out.startswith(f"{stage}  (a stage of an attempt)")
    assert say("explain", stage, "--json").document["happens"]


@pytest.mark.parametrize("spelling", ["verify-failed", "VERIFY_FAILED"])
def test_a_stage_may_be_spelled_in_other_ways(say: Say, spelling: str) -> None:
    assert say("explain", spelling).out == say("explain", "verify_failed").out


def test_a_stage_close_to_one_is_recognised(say: Say) -> None:
    assert "did you mean verify_failed" in say("explain", "verfy_failed").err


def test_letters_may_be_small(say: Say) -> None:
    assert say("explain", "e101").out == say("explain", "E101").out


def test_a_code_close_to_one_is_recognised(say: Say) -> None:
    said = say("explain", "E1131")
    assert said.code == 2
    assert "'E1131' is neither a rule nor a stage" in said.err
    assert "E113" in said.err


@pytest.mark.parametrize("code", ["hello", "", "E", "\x1b[2J", "é" * 500])
def test_what_is_no_code_is_refused(say: Say, code: str) -> None:
    said = say("explain", code, "--json")
    assert said.code == 2
    assert said.error["hint"]
