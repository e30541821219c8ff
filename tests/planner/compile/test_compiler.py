"""The compile loop with a scripted model: what is asked, what is refused, and when it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planner.rules.judge_plan import RULE_BY_CODE
from planner.run_plan import PlanResult
from shared.errors import BudgetReached, LlmchError, ModelUnavailable, ReplyUnparseable
from shared.events.events import Noted, PlanAttemptStarted, PlanEnded, PlanJudged, Warned
from shared.llm.model_client import ReplyFailed, Request
from tests.fakes import Reply
from tests.planner.planning import SPEC, Planner
from tests.planner.plans import absent, creating, exists, order, plan, requiring

GOOD = plan(creating(1, "greet.py"), creating(2, "tests/test_greet.py"))
UNMET = plan(creating(1, "greet.py", preconditions=exists("missing.py")))
PIPED = plan(order(1, acceptance_commands=["true | cat"]))


QUIET = creating(2, "b.txt", acceptance_commands=["grep -q b b.txt"], notes="not concerned")
UNMET_BESIDE = plan(*UNMET["work_orders"], QUIET)


def codes(result: PlanResult) -> list[str]:
    return [each.code for each in result.report.errors]


def error_codes(report: Mapping[str, Any]) -> list[str]:
    return [each["code"] for each in report["findings"] if each["severity"] == "error"]


def test_a_valid_first_reply_is_the_plan(planner: Planner) -> None:
    result = planner.plan(GOOD)
    assert (result.ok, result.attempts, result.work_orders, result.error) == (True, 1, 2, None)
    assert result.output_dir == planner.run_folder / "output"
    assert planner.records() >= {
        "output/WO-01.json",
        "output/WO-02.json",
        "output/WORK_ORDERS_MANIFEST.json",
    }


def test_the_first_prompt_has_the_spec_and_nothing_of_this_run(planner: Planner) -> None:
    result = planner.plan(GOOD)
    (prompt,) = planner.prompts
    assert SPEC.strip() in prompt
    assert result.run_id not in prompt
    assert str(planner.scratch) not in prompt
    assert planner.text("compile/prompt_attempt_1.txt") == prompt


def test_a_refused_plan_is_revised(planner: Planner) -> None:
    result = planner.plan(UNMET, GOOD)
    assert (result.ok, result.attempts, codes(result)) == (True, 2, [])
    assert [each.errors for each in planner.seen(PlanJudged)] == [1, 0]


def test_a_revision_shows_the_reply_and_each_finding_with_its_remedy(planner: Planner) -> None:
    planner.plan(UNMET_BESIDE, GOOD)
    first, revision = planner.prompts
    assert revision.startswith(first.strip())
    faulty = json.dumps(UNMET_BESIDE["work_orders"][0])
    assert faulty in revision
    assert '"notes": "not concerned"' not in revision
    assert '{"id": "WO-02", "title": "Check the sources", "allowed_files": ["b.txt"]}' in revision
    assert "[E101] WO-01 preconditions[0]" in revision
    assert RULE_BY_CODE["E101"].remedy in revision


def test_each_revision_is_of_the_reply_before_it(planner: Planner) -> None:
    planner.plan(UNMET, PIPED, GOOD)
    _, second, third = planner.prompts
    assert "missing.py" in second
    assert "missing.py" not in third
    assert "[E003] WO-01 acceptance_commands[0]" in third
    assert "[E101]" not in third


def test_one_revision_sees_the_faults_of_all_rules(planner: Planner) -> None:
    faulty = plan(
        order(1, acceptance_commands=["true; false"]),
        creating(2, "b.py", preconditions=exists("missing.py")),
        creating(3, "c.py", context_files=["*.py"]),
    )
    planner.plan(faulty, GOOD)
    findings = planner.prompts[1]
    assert all(f"[{code}]" in findings for code in ("E003", "E101", "E004"))


def test_a_revision_after_an_order_was_left_out_has_the_ids_of_its_findings(
    planner: Planner, repo: Path
) -> None:
    piped = order(2, title="Piped", acceptance_commands=["true | cat"])
    planner.plan(plan(creating(1, "scripts/verify.sh"), piped), GOOD, repo=repo)
    revision = planner.prompts[1]
    assert "[E003] WO-01 acceptance_commands[0]" in revision
    reply = revision[revision.index("# Revision") : revision.index("[E003]")]
    assert '"id": "WO-01"' in reply and '"title": "Piped"' in reply
    assert "WO-02" not in reply and "scripts/verify.sh" not in reply
    (warned,) = planner.seen(Warned)
    assert "WO-01 (Check the sources) is left out" in warned.message


def test_each_attempt_leaves_its_prompt_reply_and_report(planner: Planner) -> None:
    planner.plan(UNMET, f"Sure!\n```json\n{json.dumps(GOOD)}\n```")
    for attempt in (1, 2):
        assert planner.records() >= {
            f"compile/prompt_attempt_{attempt}.txt",
            f"compile/llm_raw_response_attempt_{attempt}.txt",
            f"compile/llm_reasoning_attempt_{attempt}.txt",
            f"compile/manifest_raw_attempt_{attempt}.json",
            f"compile/validation_errors_attempt_{attempt}.json",
        }
    assert planner.text("compile/llm_raw_response_attempt_2.txt").startswith("Sure!")
    assert planner.record("compile/manifest_raw_attempt_2.json") == GOOD
    first = planner.record("compile/validation_errors_attempt_1.json")
    assert (first["ok"], error_codes(first)) == (False, ["E101"])
    assert planner.record("compile/validation_errors_attempt_2.json")["ok"] is True


def test_what_never_becomes_valid_ends_after_the_last_attempt(planner: Planner) -> None:
    result = planner.plan(UNMET, PIPED, UNMET, max_attempts=3)
    assert (result.ok, result.attempts, result.output_dir) == (False, 3, None)
    assert result.error is None
    assert codes(result) == ["E101"]
    assert len(planner.prompts) == 3


def test_a_failed_compilation_leaves_all_records_and_no_plan(planner: Planner) -> None:
    planner.plan(UNMET, PIPED, max_attempts=2)
    errors = planner.record("validation_errors.json")
    assert (errors["ok"], error_codes(errors)) == (False, ["E003"])
    summary = planner.record("compile_summary.json")
    assert (summary["success"], summary["compile_attempts"]) == (False, 2)
    assert [each["code"] for each in summary["errors"]] == ["E003"]
    assert [[each["code"] for each in one["errors"]] for one in summary["attempts"]] == [
        ["E101"],
        ["E003"],
    ]
    run = planner.record("run.json")
    assert (run["status"], run["ok"], run["attempts"]) == ("completed", False, 2)
    assert not any(name.startswith("output/") for name in planner.records())


def test_an_accepted_plan_leaves_no_validation_errors(planner: Planner) -> None:
    planner.plan(UNMET, GOOD)
    assert "validation_errors.json" not in planner.records()
    summary = planner.record("compile_summary.json")
    assert (summary["success"], summary["compile_attempts"], summary["errors"]) == (True, 2, [])
    assert summary["defaults"]["model"] == "scripted"
    assert summary["seconds"] >= 0


def test_warnings_stop_nothing(planner: Planner) -> None:
    result = planner.plan(plan(order(1, mood="sunny")))
    assert (result.ok, [each.code for each in result.report.warnings]) == (True, ["W102"])
    (warning,) = planner.record("compile_summary.json")["warnings"]
    assert (warning["code"], warning["severity"]) == ("W102", "warning")


def test_every_attempt_is_announced_and_the_end_too(planner: Planner) -> None:
    planner.plan(UNMET, GOOD)
    assert [each.attempt for each in planner.seen(PlanAttemptStarted)] == [1, 2]
    (ended,) = planner.seen(PlanEnded)
    assert (ended.ok, ended.attempts) == (True, 2)
    assert ended.titles == ("WO-01  Check the sources", "WO-02  Check the sources")


# What a model may reply instead of a plan

DEEP = '{"work_orders": ' + "[" * 100_000 + "]" * 100_000 + "}"
NO_DOCUMENT = {
    "nothing": "",
    "blanks": " \n\t ",
    "prose alone": "I'd rather write a poem.",
    "two plans": f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}",
    "a plan cut short": json.dumps(GOOD)[:-20],
    "duplicate keys": '{"work_orders": [], "work_orders": []}',
    "a lone surrogate as an escape": '{"work_orders": [{"id": "\\ud800"}]}',
    "a lone surrogate as it is": '{"work_orders": [{"id": "\ud800"}]}',
    "a NUL": "\0",
    "no number of JSON": '{"work_orders": NaN}',
    "a number of too many digits": '{"work_orders": ' + "9" * 5000 + "}",
    "nesting without end": DEEP,
    "nesting that never closes": '{"a":' * 100_000,
    "eleven megabytes": json.dumps(plan(order(1, notes="x" * 11_000_000))),
    "reasoning without an answer": "<think>Let me see.",
}
DOCUMENT_WITH_FAULTS = {
    "an integer for an order": (plan(1, order(1)), "E000"),
    "null for an order": (plan(None, order(1)), "E000"),
    "no orders": (plan(), "E000"),
    "orders that are no list": ({"work_orders": {"WO-01": order(1)}}, "E000"),
    "a contract that is a list": (plan(order(1), verify_contract=[]), "E000"),
    "a condition without a path": (plan(order(1, preconditions=[{"kind": "file_exists"}])), "E005"),
    "a condition that is a string": (plan(order(1, postconditions=["a.py"])), "E005"),
    "a command that is a number": (plan(order(1, acceptance_commands=[7])), "E005"),
    "no commands": (plan(order(1, acceptance_commands=[])), "E005"),
    "a path that escapes": (plan(order(1, allowed_files=["../x"])), "E005"),
    "an id of another form": (plan(order(1, id="first")), "E001"),
    "an id that is a list": (plan(order(1, id=["WO-01"])), "E005"),
    "a title that is a number": (plan(order(1, title=3)), "E005"),
    "an unclosed quote": (plan(order(1, acceptance_commands=["echo 'a"])), "E007"),
    "a NUL in code": (plan(order(1, acceptance_commands=["python -c 'a\0'"])), "E215"),
}


@pytest.mark.parametrize("reply", NO_DOCUMENT.values(), ids=NO_DOCUMENT)
def test_a_reply_that_is_no_document_is_told_and_asked_again(planner: Planner, reply: str) -> None:
    result = planner.plan(reply, GOOD)
    assert (result.ok, result.attempts) == (True, 2)
    assert "[E000] plan" in planner.prompts[1]
    assert "compile/manifest_raw_attempt_1.json" not in planner.records()


@pytest.mark.parametrize("reply", NO_DOCUMENT.values(), ids=NO_DOCUMENT)
def test_a_last_reply_that_is_no_document_is_unparseable(planner: Planner, reply: str) -> None:
    result = planner.plan(reply, max_attempts=1)
    assert not result.ok
    assert isinstance(result.error, ReplyUnparseable)
    assert codes(result) == ["E000"]
    assert planner.record("compile_summary.json")["success"] is False
    assert planner.record("validation_errors.json")["ok"] is False
    assert "compile/llm_raw_response_attempt_1.txt" in planner.records()


@pytest.mark.parametrize(("reply", "code"), DOCUMENT_WITH_FAULTS.values(), ids=DOCUMENT_WITH_FAULTS)
def test_a_document_with_a_fault_is_invalid_and_not_unparseable(
    planner: Planner, reply: dict[str, Any], code: str
) -> None:
    result = planner.plan(reply, max_attempts=1)
    assert (result.ok, result.error) == (False, None)
    assert code in codes(result)


@pytest.mark.parametrize("reply", ["[]", json.dumps([order()]), "```json\n[1, 2]\n```"])
def test_a_list_is_invalid_and_not_unparseable(planner: Planner, reply: str) -> None:
    result = planner.plan(reply, max_attempts=1)
    assert (result.ok, result.error, codes(result)) == (False, None, ["E000"])
    assert planner.text("compile/manifest_raw_attempt_1.json").startswith("[")


@pytest.mark.parametrize("last", [UNMET, PIPED])
def test_only_the_last_reply_decides_whether_it_was_unparseable(
    planner: Planner, last: dict[str, Any]
) -> None:
    assert planner.plan("no plan today", last, max_attempts=2).error is None
    assert isinstance(planner.plan(last, "no plan today", max_attempts=2).error, ReplyUnparseable)


@pytest.mark.parametrize(
    "around",
    ["{}", "Here you are:\n{}\nEnjoy!", "```json\n{}\n```", "<think>{{hm}}</think>\n\n{}"],
    ids=["bare", "prose", "fence", "reasoning"],
)
def test_a_plan_is_found_whatever_stands_around_it(planner: Planner, around: str) -> None:
    assert planner.plan(around.format(json.dumps(GOOD))).ok


def test_an_endless_reply_is_cut_for_the_revision_and_kept_in_the_records(planner: Planner) -> None:
    reply = json.dumps(plan(order(1, notes="x" * 11_000_000)))
    planner.plan(reply, GOOD)
    assert len(planner.prompts[1]) < 400_000
    assert "characters left out" in planner.prompts[1]
    assert planner.text("compile/llm_raw_response_attempt_1.txt") == reply


# When there is no reply at all


def test_a_call_without_a_reply_uses_up_an_attempt_and_is_made_again(planner: Planner) -> None:
    result = planner.plan(ReplyFailed("the model refused"), GOOD)
    assert (result.ok, result.attempts) == (True, 2)
    first, second = planner.prompts
    assert first == second
    assert ["the model refused" in each.message for each in planner.seen(Warned)] == [True]


def test_what_came_of_a_reply_that_was_cut_is_on_record(planner: Planner) -> None:
    planner.plan(ReplyFailed("it was cut", lost=("first", '{"work_orders": [')), GOOD)
    assert planner.text("compile/llm_raw_response_attempt_1.txt") == '{"work_orders": ['


def test_after_a_call_without_a_reply_the_same_revision_is_asked_for(planner: Planner) -> None:
    result = planner.plan(UNMET, ReplyFailed("refused"), GOOD)
    assert (result.ok, result.attempts) == (True, 3)
    _, second, third = planner.prompts
    assert second == third


def test_no_reply_to_the_last_attempt_is_the_models_failure(planner: Planner) -> None:
    result = planner.plan(UNMET, ReplyFailed("the model refused"), max_attempts=2)
    assert isinstance(result.error, ModelUnavailable)
    assert "the model refused" in result.error.message
    summary = planner.record("compile_summary.json")
    assert summary["success"] is False
    assert [each["failure"] for each in summary["attempts"]] == [None, "the model refused"]
    assert planner.record("validation_errors.json")["ok"] is False


@pytest.mark.parametrize(
    ("error", "calls"),
    [(ModelUnavailable("no such model"), 2), (BudgetReached("over the cap"), 1)],
    ids=str,
)
def test_an_error_that_asking_again_cannot_mend_ends_the_loop(
    planner: Planner, error: LlmchError, calls: int
) -> None:
    with pytest.raises(type(error)):
        planner.plan(UNMET, error)
    summary = planner.record("compile_summary.json")
    assert (summary["success"], summary["compile_attempts"]) == (False, calls)
    assert summary["error"] == error.message
    assert [each["code"] for each in summary["errors"]] == ["E101"]
    assert planner.record("validation_errors.json")["ok"] is False
    run = planner.record("run.json")
    assert (run["status"], run["error"]) == ("error", error.message)


def test_an_interrupt_leaves_a_summary_too(planner: Planner) -> None:
    def interrupted(request: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planner.plan(interrupted)
    assert planner.record("compile_summary.json")["success"] is False
    assert planner.record("run.json")["status"] == "interrupted"


# What the harness decides, whatever the model says


def test_exemption_is_computed_and_never_believed(planner: Planner) -> None:
    verify = "scripts/verify.sh"
    lying = plan(
        creating(1, "greet.py", verify_exempt=False),
        creating(2, verify, verify_exempt=True),
        creating(3, "more.py", verify_exempt=True),
        verify_contract=requiring(verify),
    )
    planner.plan(lying)
    orders = planner.record("output/WORK_ORDERS_MANIFEST.json")["work_orders"]
    assert [each["verify_exempt"] for each in orders] == [True, False, False]
    assert [each["provenance"]["bootstrap"] for each in orders] == [True, False, False]


def test_without_a_contract_nothing_is_exempt(planner: Planner) -> None:
    planner.plan(plan(creating(1, "greet.py", verify_exempt=True)))
    assert planner.record("output/WO-01.json")["verify_exempt"] is False


def test_provenance_from_the_model_is_replaced(planner: Planner) -> None:
    forged = {
        "planner_run_id": "mine",
        "compile_hash": "f" * 64,
        "manifest_sha256": "f" * 64,
        "bootstrap": True,
    }
    result = planner.plan(plan(creating(1, "greet.py", provenance=forged), provenance=forged))
    manifest = planner.record("output/WORK_ORDERS_MANIFEST.json")
    for holder in (manifest, planner.record("output/WO-01.json")):
        assert holder["provenance"]["planner_run_id"] == result.run_id
        assert holder["provenance"]["bootstrap"] is False
        assert "f" * 64 not in holder["provenance"].values()


def test_contradictory_conditions_are_one_finding(planner: Planner) -> None:
    both = plan(creating(1, "a.py", preconditions=[*exists("b.py"), *absent("b.py")]))
    assert codes(planner.plan(both, max_attempts=1)) == ["E102"]


# What was cut off goes on


@pytest.mark.parametrize("ended", [KeyboardInterrupt(), BudgetReached("the cap is reached")])
def test_a_planning_that_was_cut_off_goes_on_from_its_replies(
    planner: Planner, ended: BaseException
) -> None:
    with pytest.raises(type(ended)):
        planner.plan(UNMET, interrupting(ended))
    with pytest.raises(type(ended)):
        planner.plan(PIPED, interrupting(ended))
    result = planner.plan(GOOD)
    assert (result.ok, result.attempts, len(planner.prompts)) == (True, 3, 1)
    assert (result.tally.live.calls, result.tally.replayed.calls) == (1, 2)
    assert any("going on from the replies in" in each.message for each in planner.seen(Noted))


def test_a_planning_that_was_cut_off_keeps_its_count_of_attempts(planner: Planner) -> None:
    with pytest.raises(KeyboardInterrupt):
        planner.plan(UNMET, interrupting(KeyboardInterrupt()), max_attempts=2)
    result = planner.plan(PIPED, max_attempts=2)
    assert (result.ok, result.attempts, len(planner.prompts)) == (False, 2, 1)


def test_a_planning_that_came_to_its_end_is_not_repeated(planner: Planner) -> None:
    with pytest.raises(KeyboardInterrupt):
        planner.plan(UNMET, interrupting(KeyboardInterrupt()))
    planner.plan(GOOD)
    assert planner.plan(GOOD).attempts == 1
    assert len(planner.prompts) == 1


def test_another_prompt_and_a_planning_anew_use_no_reply(planner: Planner) -> None:
    with pytest.raises(KeyboardInterrupt):
        planner.plan(UNMET, interrupting(KeyboardInterrupt()))
    planner.plan(GOOD, anew=True)
    assert len(planner.prompts) == 1
    planner.spec.write_text("# Another greeter\n\nSay goodbye.\n")
    planner.plan(GOOD)
    assert len(planner.prompts) == 1


def interrupting(ended: BaseException) -> Reply:
    """Return a reply that never comes: the planning ends instead."""

    def reply(request: Request) -> str:
        raise ended

    return reply
