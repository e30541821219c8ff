"""A run as JUnit: valid for its schema whatever a record holds, and true to what happened."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element, fromstring

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.stages import Failure, Stage
from llmch.ci.junit import render_junit, render_junit_of_error
from llmch.runs.read_run import read_report
from llmch.runs.run_model import Judged, OrderView, RunView, Standing
from tests.fakes import proposal, refused
from tests.harness import Factory
from tests.llmch.page.runs import COMMIT, drawn_run, order_view
from tests.llmch.runs.test_read_run import BAD, GOOD, kill, plan, run_two

HOSTILE = "\x1b[31mred\x1b[0m \u202edlrow ]]> <b> & \" ' \x00 \ufffe ::error::x %0A \ud800 \r\nnext"


@cache
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(Path(__file__).parent / "schemas" / "junit-10.xsd")


def read(text: str) -> Element:
    """Return the root of a document that the schema allows."""
    text.encode()  # no surrogate is left
    schema().validate(text)
    return fromstring(text)


def junit_of(factory: Factory) -> Element:
    return read(render_junit(read_report(None, factory.repo, factory.artifacts)))


def suite_of(root: Element, order: str) -> Element:
    (found,) = (each for each in root.iter("testsuite") if each.get("id") == order)
    return found


def outcomes(suite: Element) -> list[tuple[str, str]]:
    """Return the name of each case, and how it ended."""
    kinds = ("failure", "error", "skipped")
    return [
        (case.get("name", ""), next((k for k in kinds if case.find(k) is not None), "passed"))
        for case in suite.iter("testcase")
    ]


def run_of(*orders: OrderView, standing: Standing = Standing.FAILED, error: str = "") -> RunView:
    return replace(drawn_run(1), orders=orders, tracks=(), standing=standing, error=error)


def test_orders_are_suites_and_commands_are_cases(factory: Factory) -> None:
    run_two(factory)
    root = junit_of(factory)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "0", "0")
    second = suite_of(root, "WO-02")
    assert second.get("name") == "WO-02 Count to two"
    assert [name.partition(":")[0] for name, _ in outcomes(second)] == [
        "verification",
        "acceptance",
    ]
    assert {how for _, how in outcomes(second)} == {"passed"}
    facts = {each.get("name"): each.get("value") for each in second.iter("property")}
    assert facts["commit"] == factory.tip() and facts["rejected"] == "1 attempt"
    assert float(second.get("time") or 0) > 0 and second.get("timestamp")


def test_a_failed_command_says_how_it_ended(factory: Factory) -> None:
    factory.run_all(plan(), {"WO-01": [proposal({"one.txt": "1\n"})], "WO-02": [BAD]},
                    max_attempts=1)  # fmt: skip
    root = junit_of(factory)
    assert (root.get("failures"), root.get("errors")) == ("1", "0")
    (failed,) = (each for each in root.iter("testcase") if each.find("failure") is not None)
    why = failed.find("failure")
    assert why is not None and why.get("type") == "acceptance_failed"
    assert failed.get("classname") == "WO-02" and "exit code 1" in (why.get("message") or "")
    assert "AssertionError" in (failed.findtext("system-err") or "")


def test_an_order_that_failed_without_a_failed_command_has_a_failed_case(factory: Factory) -> None:
    factory.run_all(plan(), {"WO-01": [refused()]}, max_attempts=1)
    root = junit_of(factory)
    assert outcomes(suite_of(root, "WO-01")) == [("write scope violation", "failure")]
    assert outcomes(suite_of(root, "WO-02")) == [("blocked", "skipped")]


def test_what_landed_before_is_told_as_such(factory: Factory) -> None:
    factory.run_all(plan(), {"WO-01": [proposal({"one.txt": "1\n"})], "WO-02": [BAD]},
                    max_attempts=1)  # fmt: skip
    before, landed = factory.run_folder.name, factory.tip()
    factory.run_all(plan(), {"WO-02": [GOOD]})
    root = junit_of(factory)
    assert outcomes(suite_of(root, "WO-01")) == [("landed before", "skipped")]
    skipped = suite_of(root, "WO-01").find("testcase/skipped")
    assert skipped is not None
    told = skipped.get("message") or ""
    assert before in told and landed[:10] in told


def test_a_killed_run_is_an_error_and_not_green(factory: Factory) -> None:
    run_two(factory)
    kill(factory.run_folder)
    root = junit_of(factory)
    assert int(root.get("errors") or 0) == 2
    assert outcomes(suite_of(root, "WO-02"))[-1] == ("end of the order", "error")
    assert outcomes(suite_of(root, "run-all"))[0][1] == "error"


@pytest.mark.parametrize("standing", [Standing.ENDED_EARLY, Standing.INTERRUPTED, Standing.CUT_OFF])
def test_a_run_that_did_not_end_by_itself_says_why(standing: Standing) -> None:
    waiting = OrderView("WO-01", "Begin", "pending")
    root = read(render_junit(run_of(waiting, standing=standing, error="the cap was reached")))
    assert outcomes(suite_of(root, "WO-01")) == [("pending", "skipped")]
    error = suite_of(root, "run-all").find("testcase/error")
    assert error is not None and error.get("message") == "the cap was reached"


def test_a_run_under_way_has_no_verdict() -> None:
    begun = OrderView("WO-01", "Begin", "begun")
    root = read(render_junit(run_of(begun, standing=Standing.RUNNING)))
    assert outcomes(root) == [("under way", "skipped")]


@pytest.mark.parametrize(
    ("state", "words"),
    [("blocked", "it needs WO-01"), ("left_out", "a person"), ("waiting", "before its turn")],
)
def test_orders_that_were_not_made_are_skipped(state: str, words: str) -> None:
    order = OrderView("WO-02", "Go on", state, needs=("WO-01",))
    skipped = read(render_junit(run_of(order))).find("testsuite/testcase/skipped")
    assert skipped is not None and words in (skipped.get("message") or "")


@pytest.mark.parametrize("stage", [Stage.ENVIRONMENT, "error", Stage.WRITE_FAILED])
def test_what_is_not_the_work_s_fault_is_an_error(stage: Stage | Literal["error"]) -> None:
    order = OrderView("WO-01", "Begin", "failed", failure=Failure(stage, excerpt="no disk"))
    assert outcomes(read(render_junit(run_of(order)))) == [(stage.replace("_", " "), "error")]


def test_a_command_that_was_ended_is_a_failure_whatever_its_note_says() -> None:
    order = order_view(1, Judged.FAILED)
    (attempt,) = order.attempts
    (command,) = attempt.commands
    killed = replace(command, exit_code=137, note="timed out", by_itself=False)
    order = replace(order, attempts=(replace(attempt, brief=None, commands=(killed,)),))
    assert [how for _, how in outcomes(read(render_junit(run_of(order))))] == ["failure"]


def test_a_record_of_a_command_that_was_ended_is_no_pass(factory: Factory) -> None:
    factory.run_all(plan(), {"WO-01": [proposal({"one.txt": "1\n"})], "WO-02": [BAD]},
                    max_attempts=1)  # fmt: skip
    path = factory.run_folder / "WO-02" / "attempt_1" / "acceptance_result.json"
    (record,) = json.loads(path.read_text())
    path.write_text(json.dumps([record | {"cause": "timed_out", "note": "ended after 9 s"}]))
    run = read_report(None, factory.repo, factory.artifacts)
    (command,) = run.orders[1].attempts[0].commands[-1:]
    assert not command.passed
    (failed,) = (each for each in junit_of(factory).iter("failure"))
    assert "timed out, ended after 9 s" in (failed.get("message") or "")


def test_a_failure_that_counts_for_nothing_passes() -> None:
    order = order_view(1)
    last = order.attempts[-1]
    red = replace(last.commands[0], exit_code=1, note="red before the order too")
    order = replace(order, attempts=(replace(last, commands=(red, red)),))
    cases = outcomes(read(render_junit(run_of(order))))
    assert [how for _, how in cases] == ["passed", "passed"]
    assert cases[1][0] == f"{cases[0][0]} (2)"  # no two cases have the same name


def test_hostile_text_is_shown_and_does_not_act() -> None:
    order = order_view(1, Judged.FAILED, HOSTILE)
    text = render_junit(run_of(order, error=HOSTILE))
    assert "\x1b" not in text and "\u202e" not in text
    root = read(text)
    assert "⟨U+202E⟩" in (suite_of(root, "WO-01").get("name") or "")
    assert "]]>" in "".join(root.itertext())


@given(st.text(), st.sampled_from([*Judged]), st.sampled_from([*Standing]))
def test_any_text_makes_a_valid_file(text: str, judged: Judged, standing: Standing) -> None:
    read(render_junit(run_of(order_view(1, judged, text), standing=standing, error=text)))


def test_a_huge_record_makes_a_bounded_file() -> None:
    order = order_view(1, Judged.FAILED, "x" * 5_000_000)
    text = render_junit(run_of(order))
    assert len(text) < 150_000
    assert "characters left out" in text
    read(text)


def test_secrets_are_masked_before_they_are_escaped() -> None:
    secret = 'pass<&"word'
    order = order_view(1, Judged.FAILED, f"it is {secret}")
    text = render_junit(run_of(order), lambda each: each.replace(secret, "[redacted]"))
    assert "[redacted]" in text and "word" not in text


def test_an_error_before_any_run_is_a_case() -> None:
    root = read(render_junit_of_error("the tree is dirty", "commit it", "PREFLIGHT"))
    error = root.find("testsuite/testcase/error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("PREFLIGHT", "the tree is dirty")


def test_an_earlier_commit_is_named_short() -> None:
    order = OrderView("WO-01", "Begin", "skipped", commit=COMMIT)
    skipped = read(render_junit(run_of(order))).find("testsuite/testcase/skipped")
    assert skipped is not None and skipped.get("message") == (
        f"landed before this run, as {COMMIT[:10]}"
    )
