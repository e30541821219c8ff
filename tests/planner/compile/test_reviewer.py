"""The review of a valid plan by a scripted reviewer: what counts, and that nothing gets worse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.compile.judge_reply import MAX_CLAIMS, orders_at_risk, read_review
from planner.plan.parse_plan import parse_plan
from shared.errors import BudgetReached, Interrupted, LlmchError, ModelUnavailable
from shared.events.events import PlanReviewed, Warned
from shared.llm.model_client import ReplyFailed, Role
from tests.planner.planning import SPEC, Planner, judge_text
from tests.planner.plans import creating, exists, plan

COMMAND = 'python -c "from greet import greet; assert greet({}) == 1"'
NOTES = "greet(name: str) -> str returns the greeting"
GOOD = plan(creating(1, "greet.py", acceptance_commands=[COMMAND], notes=NOTES))
BETTER = plan(creating(1, "greet.py", notes="Corrected as the review says."))
BEST = plan(creating(1, "greet.py", notes="Corrected once more."))
UNMET = plan(creating(1, "greet.py", preconditions=exists("missing.py")))
NOTHING: dict[str, Any] = {"findings": []}


def claim(**changes: Any) -> dict[str, Any]:
    """Return a claim about GOOD that holds good, with changes."""
    sound = {
        "work_order": "WO-01",
        "command": COMMAND,
        "claim": "greet is called with a dict, but takes a string",
        "evidence": "greet(name: str) -> str",
    }
    return sound | changes


def findings(*claims: object) -> dict[str, Any]:
    return {"findings": list(claims)}


def final_notes(planner: Planner) -> str:
    return str(planner.record("output/WO-01.json")["notes"])


def test_a_plan_that_nobody_objects_to_is_the_plan(planner: Planner) -> None:
    result = planner.plan(GOOD, reviews=[NOTHING])
    assert (result.ok, result.attempts, final_notes(planner)) == (True, 1, NOTES)
    (review,) = planner.seen(PlanReviewed)
    assert (review.round, review.claims, review.failure) == (1, (), "")


def test_the_reviewer_is_shown_spec_and_plan_and_is_a_model_of_its_own(planner: Planner) -> None:
    planner.plan(GOOD, reviews=[NOTHING])
    asked = planner.model.requests[-1]
    assert (asked.place.role, asked.place.attempt, asked.model) == (Role.REVIEWER, 1, "critic")
    assert SPEC.strip() in asked.prompt
    assert NOTES in asked.prompt
    assert planner.text("compile/reviewer_prompt.txt") == asked.prompt


def test_a_claim_that_quotes_the_plan_is_put_to_the_planner(planner: Planner) -> None:
    result = planner.plan(GOOD, BETTER, reviews=[findings(claim()), NOTHING])
    assert (result.ok, result.attempts) == (True, 2)
    assert final_notes(planner) == "Corrected as the review says."
    revision = planner.model.requests[2].prompt
    assert revision.startswith(planner.prompts[0].strip())
    assert "greet is called with a dict" in revision
    assert json.dumps(GOOD["work_orders"][0]) in revision


def test_two_rounds_at_most_each_with_records_of_its_own(planner: Planner) -> None:
    second = claim(command=None, evidence="Corrected as the review says.")
    result = planner.plan(GOOD, BETTER, BEST, reviews=[findings(claim()), findings(second)])
    assert (result.ok, result.attempts) == (True, 3)
    assert final_notes(planner) == "Corrected once more."
    for suffix in ("", "_2"):
        assert planner.records() >= {
            f"compile/reviewer_prompt{suffix}.txt",
            f"compile/reviewer_response{suffix}.json",
            f"compile/reviewer_errors{suffix}.json",
        }
    assert planner.record("compile/reviewer_errors.json") == {
        "failure": None,
        "claims": [claim()],
        "dismissed": [],
    }


def test_a_planner_that_stands_by_its_plan_ends_the_review(planner: Planner) -> None:
    result = planner.plan(GOOD, GOOD, reviews=[findings(claim())])
    assert (result.ok, result.attempts, final_notes(planner)) == (True, 2, NOTES)


def test_the_revised_plan_passes_the_rules_again(planner: Planner) -> None:
    result = planner.plan(GOOD, UNMET, BETTER, reviews=[findings(claim()), NOTHING])
    assert (result.ok, result.attempts) == (True, 3)
    assert "[E101] WO-01 preconditions[0]" in planner.model.requests[3].prompt
    assert final_notes(planner) == "Corrected as the review says."


def test_where_no_revision_is_valid_the_last_valid_plan_wins(planner: Planner) -> None:
    result = planner.plan(GOOD, UNMET, "no plan", reviews=[findings(claim())], max_attempts=3)
    assert (result.ok, result.error, result.report.errors) == (True, None, ())
    assert final_notes(planner) == NOTES
    assert "the plan stays" in planner.seen(Warned)[-1].message
    summary = planner.record("compile_summary.json")
    assert (summary["success"], summary["work_orders"], summary["errors"]) == (True, 1, [])
    assert "validation_errors.json" not in planner.records()


def test_a_plan_that_took_all_attempts_may_still_be_revised_once(planner: Planner) -> None:
    reviews = [findings(claim()), NOTHING]
    assert planner.plan(GOOD, BETTER, reviews=reviews, max_attempts=1).attempts == 2


@pytest.mark.parametrize(
    "nonsense",
    [
        "I like it!",
        "",
        "[]",
        '{"findings": 7}',
        '{"findings": [1, null, "WO-01", [], {}]}',
        '{"findings": [{"work_order": 1, "claim": 2, "evidence": 3}]}',
        '{"findings": ' + "[" * 50_000,
        "\0",
        ReplyFailed("the model refused"),
        ModelUnavailable("no such model"),
        BudgetReached("over the cap"),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_a_reviewer_that_talks_nonsense_or_fails_changes_nothing(
    planner: Planner, nonsense: str | Exception
) -> None:
    result = planner.plan(GOOD, reviews=[nonsense])
    assert (result.ok, result.attempts, final_notes(planner)) == (True, 1, NOTES)


@pytest.mark.parametrize(
    "failure", [ModelUnavailable("gone"), BudgetReached("over the cap"), ReplyFailed("refused")]
)
def test_a_planner_that_fails_after_the_review_keeps_the_valid_plan(
    planner: Planner, failure: Exception
) -> None:
    result = planner.plan(GOOD, failure, reviews=[findings(claim())], max_attempts=2)
    assert (result.ok, result.error, final_notes(planner)) == (True, None, NOTES)


def test_an_interrupt_ends_a_review_as_it_ends_anything(planner: Planner) -> None:
    with pytest.raises(LlmchError):
        planner.plan(GOOD, reviews=[Interrupted("stopped")])
    assert planner.record("compile_summary.json")["error"] == "stopped"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"work_order": "WO-02"}, "names an order that the plan does not have"),
        ({"command": "pytest"}, "names a command that the order does not have"),
        ({"evidence": "greet(name: int) -> str"}, "quotes a text that is not in the order"),
        ({"evidence": "greet"}, "quotes fewer than 8 characters"),
        ({"evidence": "   \n\t      "}, "quotes fewer than 8 characters"),
        ({"claim": " "}, "is not of the form asked for"),
        ({"command": 7}, "is not of the form asked for"),
    ],
)
def test_a_claim_without_proof_is_dismissed(
    planner: Planner, changes: dict[str, Any], reason: str
) -> None:
    result = planner.plan(GOOD, reviews=[findings(claim(**changes))])
    assert (result.ok, result.attempts) == (True, 1)
    (dismissed,) = planner.record("compile/reviewer_errors.json")["dismissed"]
    assert dismissed == {"claim": claim(**changes), "reason": reason}


@pytest.mark.parametrize(
    "evidence",
    [NOTES, "greet(name:\n str)   -> str", '"allowed_files": ["greet.py"]', COMMAND],
    ids=["whole", "other blanks", "as JSON", "a command"],
)
def test_what_is_quoted_may_be_any_part_of_the_order(evidence: str) -> None:
    review = read_review(json.dumps(findings(claim(evidence=evidence))), parse_plan(GOOD))
    assert (len(review.claims), review.dismissed) == (1, ())


def test_what_stands_in_another_order_proves_nothing() -> None:
    two = plan(*GOOD["work_orders"], creating(2, "other.py"))
    review = read_review(
        json.dumps(findings(claim(work_order="WO-02", command=None))), parse_plan(two)
    )
    assert review.claims == ()


def test_repeated_and_surplus_claims_are_dropped() -> None:
    many = [claim(claim=f"claim {number}") for number in range(MAX_CLAIMS + 5)]
    review = read_review(json.dumps(findings(claim(), claim())), parse_plan(GOOD))
    assert len(review.claims) == 1
    assert len(read_review(json.dumps(findings(*many)), parse_plan(GOOD)).claims) == MAX_CLAIMS


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "```json\n{}\n```",
        "I checked every command.\n\n{}",
        "<think>[WO-01] is fine?</think>\n{}\nThat is all.",
    ],
    ids=["bare", "fenced", "after prose", "after reasoning"],
)
def test_the_list_of_findings_may_stand_by_itself(around: str) -> None:
    empty = read_review(around.replace("{}", "[]"), parse_plan(GOOD))
    assert (empty.claims, empty.dismissed, empty.failure) == ((), (), "")
    one = read_review(around.replace("{}", json.dumps([claim()])), parse_plan(GOOD))
    assert (len(one.claims), one.dismissed, one.failure) == (1, (), "")


@pytest.mark.parametrize(
    "reply", ['{"verdict": "fine", "notes": []}', '{"a": []} []', "[] []", "[1]", "none", "[{"]
)
def test_a_list_inside_something_else_is_no_review(reply: str) -> None:
    assert read_review(reply, parse_plan(GOOD)).failure


def test_a_reviewer_that_replies_with_an_array_is_heard(planner: Planner) -> None:
    result = planner.plan(GOOD, BETTER, reviews=[json.dumps([claim()]), "[]"])
    assert (result.ok, result.attempts) == (True, 2)
    assert final_notes(planner) == "Corrected as the review says."
    assert [each.failure for each in planner.seen(PlanReviewed)] == ["", ""]


TRIED = creating(
    2,
    "greet.py",
    interfaces=[{"path": "greet.py", "stub": "def greet(name: str) -> str: ..."}],
    acceptance_commands=["python -c \"from greet import greet; assert greet('a') == 'A'\""],
)
UNTRIED = TRIED | {
    "interfaces": [{"path": "greet.py", "stub": "def shout(name: str) -> str: ..."}],
    "acceptance_commands": ["python -m pytest -q tests"],
}


def at_risk(*orders: dict[str, Any], **more: Any) -> frozenset[str]:
    whole, report = judge_text(json.dumps(plan(*orders, **more)))
    return orders_at_risk(whole, report)


@pytest.mark.rest
def test_an_order_is_at_risk_by_what_the_rules_cannot_see() -> None:
    first = creating(1, "words.txt", acceptance_commands=["grep -q crane words.txt"])
    assert at_risk(first, TRIED) == frozenset()
    assert at_risk(first, UNTRIED) == {"WO-02"}
    assert at_risk(creating(1, "a.txt", acceptance_commands=["test -f a.txt"]), TRIED) == {"WO-01"}
    said = {"text": "T", "reading": "R", "requirements": [], "work_orders": ["WO-01", "WO-99"]}
    assert at_risk(first, TRIED, assumptions=[said | {"kind": "assumption"}]) == frozenset()
    assert at_risk(first, TRIED, assumptions=[said | {"kind": "contradiction"}]) == {"WO-01"}
    assert at_risk(first, TRIED, assumptions=["no entry", 3]) == frozenset()


def test_the_same_model_is_asked_only_about_orders_at_risk(planner: Planner) -> None:
    first = creating(1, "words.txt", acceptance_commands=["grep -q crane words.txt"], notes="N-1")
    risky = creating(2, "b.txt", acceptance_commands=["test -f b.txt"], notes="N-2")
    planner.plan(plan(first, risky), reviews=[NOTHING], review_all=False)
    prompt = planner.model.requests[-1].prompt
    assert '"notes": "N-2"' in prompt and '"notes": "N-1"' not in prompt
    assert '"allowed_files": [' in prompt.partition('"id": "WO-01"')[2].partition("WO-02")[0]


def test_where_nothing_is_at_risk_nobody_is_asked(planner: Planner) -> None:
    sure = creating(1, "words.txt", acceptance_commands=["grep -q crane words.txt"])
    assert planner.plan(plan(sure), reviews=[], review_all=False).ok
    assert [each.place.role for each in planner.model.requests] == [Role.PLANNER]
    assert not planner.seen(PlanReviewed)
