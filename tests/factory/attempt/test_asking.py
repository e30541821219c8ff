"""Replies that are not worth judging: asked again at once, counted, and in the end given up."""

from __future__ import annotations

import pytest

from factory.orders.documents import ReplyFormat
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.orders.stages import Stage
from shared.events.events import AttemptFailed, CommandStarted, ModelAskedAgain
from shared.llm.model_client import ReplyFailed
from tests.fakes import Reply, proposal
from tests.harness import Factory, commit_all, order, stages

PICKY = order(acceptance_commands=["grep -q hello hello.txt"])
BAD = proposal({"hello.txt": "bad\n"})
GOOD = proposal({"hello.txt": "hello\n"})


def choice(ladder: str, attempts: int = 5) -> ModelChoice:
    return ModelChoice(parse_ladder(ladder), attempts, reply_format=ReplyFormat.JSON)


def test_files_that_failed_before_are_not_run_again(factory: Factory) -> None:
    summary = factory.run(PICKY, [BAD, BAD, GOOD])
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]
    assert [each.reason for each in summary.attempt_records[1].questions] == ["repeated"]
    assert "You gave the same files as in attempt 1" in factory.prompt(2)
    commands = [each.command for each in factory.seen(CommandStarted)]
    assert commands.count("grep -q hello hello.txt") == 2
    (asked,) = factory.seen(ModelAskedAgain)
    assert (asked.order, asked.attempt, asked.reason) == ("WO-01", 2, "repeated")


def test_a_model_that_only_repeats_itself_is_not_paid_for_the_rest(factory: Factory) -> None:
    summary = factory.run(PICKY, [BAD] * 4, max_attempts=5)
    assert (summary.verdict, summary.usage.calls) == ("FAIL", 4)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, Stage.REPEATED]
    assert summary.attempt_records[1].repeats == 1
    assert "--factory-model small,large" in factory.seen(AttemptFailed)[-1].next_step
    assert factory.tip() == ""


def test_a_larger_model_is_asked_where_the_smaller_one_repeats_itself(factory: Factory) -> None:
    summary = factory.run(PICKY, [BAD, BAD, BAD, GOOD], models=choice("small,large@5"))
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]
    models = [each.model for each in factory.model.requests]
    assert models == ["small", "small", "small", "large"]
    assert [each.temperature for each in factory.model.requests] == [0, 0.4, 0.4, 0]
    assert summary.attempt_records[1].model == "large"


def test_a_file_left_as_it_is_is_asked_for_again_and_then_judged(factory: Factory) -> None:
    commit_all(factory.repo, {"hello.txt": "bad\n"})
    summary = factory.run(PICKY, [BAD, BAD], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED], "a model that insists is judged"
    assert "left every file as it is" in factory.prompt(1)


@pytest.mark.parametrize("more", [["no", "none"], [ReplyFailed("gone")]])
def test_what_only_a_doubt_is_against_is_judged_where_no_better_reply_comes(
    factory: Factory, more: list[Reply]
) -> None:
    commit_all(factory.repo, {"hello.txt": "hello\n"})
    replies: list[Reply] = [GOOD, *more]
    summary = factory.run(PICKY, replies)
    assert stages(summary) == [""]
    assert len(summary.attempt_records[0].questions) == len(more)


def test_the_last_question_is_the_short_one(factory: Factory) -> None:
    reply = "Say hello.\n\n```hello.txt\nhello\n```\n"
    summary = factory.run(PICKY, ["", "", reply])
    assert stages(summary) == [""]
    before, short = factory.prompt(1), factory.prompt(2)
    assert '"writes": [{"path": "hello.txt"' in before and '"writes"' not in short
    assert short.startswith("Say hello\n\nWrite a greeting.\n")
    assert short.endswith("Reply with the whole file hello.txt in one fenced code block.\n")


def test_a_small_model_is_asked_afresh_before_it_is_told_what_failed(factory: Factory) -> None:
    models = ModelChoice(parse_ladder("a-1.5b"), 6, reply_format=ReplyFormat.FILES)
    wrong = ("bad", "worse", "worst", "no", "none")
    replies: list[Reply] = [f"```\n{text}\n```\n" for text in (*wrong, "hello")]
    summary = factory.run(PICKY, replies, models=models, max_attempts=6)
    assert stages(summary) == [*[Stage.ACCEPTANCE_FAILED] * 5, ""]
    *samples, last = factory.model.requests
    assert len({each.prompt for each in samples}) == 1
    asked_at = [each.temperature for each in factory.model.requests]
    assert asked_at == [0, 0.8, 1.0, 0.7, 0.9, 0.8]
    assert "What came of your earlier replies" in last.prompt
    said = [each.next_step.rpartition(" 6 ")[2] for each in factory.seen(AttemptFailed)]
    assert said == [*["asks as if it were the first"] * 4, "is shown this failure"]


def test_no_prompt_is_sent_twice_at_temperature_0(factory: Factory) -> None:
    replies: list[Reply] = ["", "", "", BAD, BAD, BAD, BAD]
    factory.run(PICKY, replies, max_attempts=9)
    asked = [(each.prompt, each.temperature) for each in factory.model.requests]
    assert len(set(asked)) == len(asked) == 7


def test_calls_within_an_attempt_are_counted_for_the_order(factory: Factory) -> None:
    summary = factory.run(PICKY, ["", BAD, BAD, GOOD])
    assert (summary.attempts, summary.usage.calls) == (2, 4)
