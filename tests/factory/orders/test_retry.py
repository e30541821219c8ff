"""How a model is asked again: which one, how warm, and when it has no more use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factory.orders.documents import FailureBrief
from factory.orders.model_choice import (
    AskedModel,
    ModelChoice,
    PastAttempt,
    ask_again,
    first_model,
    is_stuck,
    parse_ladder,
    warmer,
)
from factory.orders.stages import Stage


def failed(stage: Stage, number: int = 1, rung: int = 0) -> PastAttempt:
    return PastAttempt(number, rung, None, FailureBrief(stage=stage, primary_error_excerpt="x"))


def walk(
    ladder: str, stages: list[Stage], attempts: int = 9, *, is_short: bool = False
) -> list[AskedModel]:
    """Return how each attempt asks first, when the attempts before it failed at these stages."""
    models = ModelChoice(parse_ladder(ladder), attempts)
    past: list[PastAttempt] = []
    found: list[AskedModel] = []
    for number, stage in enumerate([*stages, Stage.EXCEPTION], 1):
        answering = first_model(models, past, number, is_short=is_short)
        found.append(answering)
        past.append(failed(stage, number, answering.rung))
    return found


def test_code_that_was_judged_and_failed_is_asked_for_at_a_higher_temperature() -> None:
    sequence = walk("one", [Stage.ACCEPTANCE_FAILED] * 3)
    assert [each.temperature for each in sequence] == [0, 0.4, 0.8, 0.8]


def test_a_reply_that_was_not_judged_raises_no_temperature() -> None:
    sequence = walk("one", [Stage.LLM_OUTPUT_INVALID, Stage.EXCEPTION, Stage.WRITE_SCOPE_VIOLATION])
    assert {each.temperature for each in sequence} == {0}


@pytest.mark.parametrize(("start", "steps", "warm"), [(0.6, 1, 0.6), (0.6, 2, 0.8), (1.5, 9, 1.5)])
def test_a_temperature_is_never_lowered(start: float, steps: int, warm: float) -> None:
    assert warmer(start, steps) == warm


def test_the_servers_own_temperature_stays() -> None:
    assert warmer(None, 2) is None


def test_a_small_model_is_asked_its_short_prompt_afresh_before_it_is_told_of_failures() -> None:
    sequence = walk("a-1.5b", [Stage.ACCEPTANCE_FAILED] * 5, is_short=True)
    assert [(each.afresh, each.temperature) for each in sequence] == [
        (False, 0),
        (True, 0.8),
        (True, 1.0),
        (True, 0.7),
        (True, 0.9),
        (False, 0.8),
    ]


@pytest.mark.parametrize(
    ("model", "is_short", "temperature"),
    [("a-7b", True, 0.0), ("unknown", True, 0.0), ("a-1.5b", False, 0.0), ("a-1.5b", True, None)],
)
def test_all_others_are_told_of_the_failure(
    model: str, is_short: bool, temperature: float | None
) -> None:
    models = ModelChoice(parse_ladder(model), 5, temperature=temperature)
    past = [failed(Stage.ACCEPTANCE_FAILED)]
    assert not first_model(models, past, 2, is_short=is_short).afresh


def test_a_sample_is_never_cooler_than_the_user_wants_it() -> None:
    models = ModelChoice(parse_ladder("a-1.5b"), 5, temperature=0.9)
    sequence = [
        first_model(models, [failed(Stage.VERIFY_FAILED)] * count, count + 1, is_short=True)
        for count in (1, 2)
    ]
    assert [each.temperature for each in sequence] == [0.9, 1.0]


@pytest.mark.parametrize(
    ("ladder", "asked"),
    [
        ("a-1.5b,large", [0, 0, 1, 1]),
        ("a-7b,large", [0, 0, 0, 1]),
        ("unknown,large", [0, 0, 0, 1]),
        ("a-32b,large", [0, 0, 0, 0]),
        ("a-1.5b,large@9", [0, 0, 0, 0]),
        ("a-1.5b,large@2", [0, 1, 1, 1]),
    ],
)
def test_a_larger_model_is_asked_when_the_smaller_had_its_retries(
    ladder: str, asked: list[int]
) -> None:
    sequence = walk(ladder, [Stage.ACCEPTANCE_FAILED] * 3)
    assert [each.rung for each in sequence] == asked


def test_the_attempts_are_shared_at_least_as_early_as_the_ladder_says() -> None:
    assert [each.rung for each in walk("a-32b,b", [Stage.VERIFY_FAILED] * 2, 3)] == [0, 0, 1]


def test_a_repetition_brings_the_next_model_at_once() -> None:
    assert [each.rung for each in walk("a-32b,b@9,c", [Stage.REPEATED] * 3)] == [0, 1, 2, 2]


def test_a_rung_is_never_left_downwards() -> None:
    stages = [Stage.REPEATED, Stage.EXCEPTION, Stage.EXCEPTION]
    assert [each.rung for each in walk("a,b@9", stages)] == [0, 1, 1, 1]


def test_the_last_model_that_repeats_itself_ends_the_order() -> None:
    models = ModelChoice(parse_ladder("a,b"), 5)
    assert not is_stuck(models, [failed(Stage.REPEATED, rung=0)])
    assert is_stuck(models, [failed(Stage.REPEATED, rung=1)])
    assert not is_stuck(models, [failed(Stage.ACCEPTANCE_FAILED, rung=1)])


def test_an_agent_that_ends_alike_twice_brings_the_next_model_or_ends_the_order() -> None:
    models = ModelChoice(parse_ladder("a-32b,b"), 5)

    def ended(said: str, rung: int) -> PastAttempt:
        past = failed(Stage.EXCEPTION, rung=rung)
        facts = (said,) if said else ()
        return replace(past, brief=past.brief.model_copy(update={"facts": facts}))

    alike = [ended("it said the same", 0)] * 2
    assert [first_model(models, alike[:n], n + 1).rung for n in (1, 2)] == [0, 1]
    assert not is_stuck(models, [*alike, ended("it said the same", 1)])
    assert is_stuck(models, [ended("it said the same", 1)] * 2)
    assert not is_stuck(models, [ended("it said the same", 1), ended("it took too long", 1)])
    assert not is_stuck(models, [ended("", 1)] * 2), "a call that failed may succeed later"


@pytest.mark.parametrize(
    ("questions", "repeated", "expected"),
    [
        (1, False, AskedModel(0, "a", 0)),
        (2, False, AskedModel(0, "a", 0.4)),
        (1, True, AskedModel(0, "a", 0.4)),
        (2, True, AskedModel(1, "b", 0)),
    ],
)
def test_a_question_changes_what_can_change(
    questions: int, repeated: bool, expected: AskedModel
) -> None:
    models = ModelChoice(parse_ladder("a,b"), 5)
    assert ask_again(models, AskedModel(0, "a", 0), questions, repeated) == expected


def test_the_last_model_is_asked_warmer_instead() -> None:
    models = ModelChoice(parse_ladder("a"), 5)
    assert ask_again(models, AskedModel(0, "a", 0), 2, repeated=True) == AskedModel(0, "a", 0.8)
