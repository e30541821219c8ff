"""Steps and outcomes as they go through the queue: all that is in them comes out again."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from factory.attempt.attempt_state import first_state
from factory.fleet.wire import (
    PROTOCOL,
    Answer,
    Job,
    JobMisread,
    Kind,
    OutcomeDocument,
    Refusal,
    StateDocument,
    answer_to_json,
    error_of,
    job_to_json,
    parse,
    parse_answer,
    parse_job,
    progress_of,
    refusal_of,
    render,
    result_document,
    state_document,
    unpack,
)
from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from factory.orders.task import Errored, Failed, OrderResult, Verdict
from shared.errors import BudgetReached, CommandFailed, FleetUnavailable, SandboxUnavailable
from shared.llm.model_client import Usage
from shared.llm.usage import Tally

BRIEF = FailureBrief(
    stage=Stage.VERIFY_FAILED, command="make test", exit_code=2, primary_error_excerpt="\0 é \u2028"
)
BEFORE = Tally(Usage(1, 10, 1, 5, 2, Decimal("0.1"), 1, 3), Usage(1, 4))
USAGE = Tally(Usage(3, 30, 4, 15, 7, Decimal("0.01"), 0, 6), Usage(2, 8, cost_usd=None))


def outcome(verdict: Verdict) -> OutcomeDocument:
    state = state_document({**first_state(), "verdict": verdict})
    result = result_document(OrderResult(verdict, ()))
    return OutcomeDocument(state, result, "", {"a/b": ""}, ({"event": "x"},), ("{}",), USAGE)


def test_any_text_goes_through_as_ascii() -> None:
    text = render(outcome(Failed(BRIEF)))
    assert text.isascii()
    made = progress_of(parse(OutcomeDocument, text))
    assert made.result is not None
    assert made.result.verdict == Failed(BRIEF)
    assert made.state["verdict"] == Failed(BRIEF)


@pytest.mark.parametrize(
    "kind", [BudgetReached, SandboxUnavailable, FleetUnavailable, CommandFailed]
)
def test_an_error_keeps_its_words_and_its_exit_code(kind: type[CommandFailed]) -> None:
    error = kind("what is wrong", "what to do")
    made = progress_of(parse(OutcomeDocument, render(outcome(Errored("ended", error)))))
    assert made.result is not None
    verdict = made.result.verdict
    assert isinstance(verdict, Errored)
    assert verdict.error is not None
    came = (verdict.error.exit_code, verdict.error.message, verdict.error.hint)
    assert came == (error.exit_code, error.message, error.hint)


def test_the_usage_of_a_step_is_that_of_the_step_alone_in_all_its_parts() -> None:
    after = Tally(BEFORE.live + USAGE.live, BEFORE.replayed + USAGE.replayed)
    assert after - BEFORE == USAGE
    assert parse(OutcomeDocument, render(outcome(Failed(BRIEF)))).usage == USAGE


def test_an_error_that_ends_no_run_stays_one() -> None:
    made = progress_of(parse(OutcomeDocument, render(outcome(Errored("ended")))))
    assert made.result is not None
    assert made.result.verdict == Errored("ended")
    assert error_of(refusal_of(CommandFailed("x"))).exit_code == CommandFailed.exit_code


@pytest.mark.parametrize("text", [None, 7, "", "{", "[]", '{"attempt": 1}', "[" * 100_000])
def test_what_is_no_document_is_refused_in_words(text: object) -> None:
    with pytest.raises(JobMisread, match="StateDocument"):
        parse(StateDocument, text)


def test_jobs_and_answers_come_out_as_they_went_in() -> None:
    job = Job("run-WO-01-1", Kind.JUDGE, "run", {"step": "x"})
    assert parse_job(job.id, json.loads(json.dumps(job_to_json(job)))) == job
    answers: list[Answer] = [{"outcome": "x"}, Refusal(3, "no key", "set one")]
    for answer in answers:
        assert parse_answer(json.loads(json.dumps(answer_to_json(answer)))) == answer


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "not one of llmch's"),
        (None, "not one of llmch's"),
        ({"protocol": PROTOCOL + 1, "llmch": "9.9"}, f"speaks protocol {PROTOCOL + 1} (llmch 9.9)"),
        (
            {"protocol": PROTOCOL, "llmch": "0", "kind": "x", "plan": "", "document": {}},
            "unknown kind",
        ),
    ],
)
def test_a_job_that_is_none_is_refused_in_words(value: object, words: str) -> None:
    with pytest.raises(JobMisread) as misread:
        parse_job("1", value)
    assert words in str(misread.value)


def test_a_job_of_no_protocol_is_none_of_llmchs() -> None:
    with pytest.raises(JobMisread, match="not one of llmch's"):
        parse_job("j", {"kind": "propose", "plan": "p", "document": {}})


def test_no_carried_file_takes_the_place_of_its_folder(tmp_path: Path) -> None:
    unpack({".": "aGk="}, tmp_path / "here")
    assert not (tmp_path / "here").is_file()
