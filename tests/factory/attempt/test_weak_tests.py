"""An order whose own commands notice too few faults does not land, and is planned again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factory.orders.documents import RunSummary
from factory.orders.stages import PlanAtHand, Stage, next_step
from factory.record.summary import public_json
from factory.statement.statement import Statement, parse_bundle, read_envelopes
from shared.events.events import AttemptFailed
from shared.git.client import Git
from shared.settings.settings import StrengthSettings
from tests.factory.judging.measuring import STACK
from tests.fakes import proposal
from tests.harness import Factory, order, stages

WEAK = "python -c 'from stack import clamp; assert clamp(0, 1, 9) == 1'"
STRONG = (
    "python -c 'from stack import clamp, total; assert total([1, 2]) == 3; "
    "assert [clamp(n, 1, 9) for n in (0, 5, 10)] == [1, 5, 9]'"
)
REPLY = proposal({"stack.py": STACK})


def run(factory: Factory, command: str, least: float, **options: object) -> RunSummary:
    document = order(allowed_files=["stack.py"], acceptance_commands=[command])
    strength = StrengthSettings(least=least, seed=7)
    return factory.run(document, [REPLY, REPLY], strength=strength, **options)


def test_weak_tests_keep_an_order_from_landing_and_cost_no_further_attempt(
    factory: Factory,
) -> None:
    summary = run(factory, WEAK, 0.8)
    assert (summary.verdict, stages(summary)) == ("FAIL", [Stage.WEAK_TESTS])
    assert summary.usage.calls == 1, "no other proposal could make the tests stronger"
    assert factory.tip() == ""
    assert summary.failure is not None
    *survivors, score = summary.failure.excerpt.splitlines()
    assert score == "strength 2 of 11, and strength.min is 0.8"
    assert len(survivors) == 4 and all(each.startswith("stack.py:") for each in survivors)
    (failed,) = factory.seen(AttemptFailed)
    assert failed.stage == "weak_tests"
    record = factory.record("run_summary.json")["attempt_records"][0]
    assert len(record["strength"]["survivors"]) == 9


def test_strong_tests_land_and_every_account_has_their_strength(factory: Factory) -> None:
    summary = run(factory, STRONG, 0.8)
    assert summary.verdict == "PASS", summary.failure
    verified = summary.verified_by
    assert verified is not None and verified.strength is not None
    assert verified.strength.score == "strength 9 of 11"
    assert "; strength 9 of 11, survivors: stack.py:" in verified.describe()
    printed = json.loads(json.dumps(public_json(summary)))
    assert set(printed["verified_by"]["strength"]) == {"killed", "of", "survivors", "seed"}
    assert summary.commit is not None
    note = read_envelopes(Git(factory.repo))[summary.commit]
    (attached,) = parse_bundle(note)
    assert isinstance(attached.statement, Statement)
    assert attached.statement.predicate.strength == verified.strength
    assert verified.strength.seed == 7


@pytest.mark.parametrize("least", [0.0, 0.1])
def test_where_the_strength_is_enough_or_not_asked_for_the_order_lands(
    factory: Factory, least: float
) -> None:
    summary = run(factory, WEAK, least)
    assert summary.verdict == "PASS"
    assert summary.verified_by is not None
    assert (summary.verified_by.strength is None) == (least == 0)
    assert ('"strength"' in json.dumps(public_json(summary))) == (least > 0)


def test_the_next_step_plans_the_order_again() -> None:
    said = next_step(Stage.WEAK_TESTS, "WO-02", plan=PlanAtHand(Path("my plan")))
    assert said == (
        "plan WO-02 alone again, with these faults in the prompt: "
        "`llmch plan --spec SPEC --from 'my plan'`"
    )


def test_the_command_has_the_specification_that_the_planning_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.json").write_text('{"command": "plan", "spec": "my spec.md"}')
    plan = tmp_path / "output"
    said = next_step(Stage.WEAK_TESTS, "WO-02", plan=PlanAtHand(plan))
    assert f"`llmch plan --spec SPEC --from {plan}`" in said, "the file is not here any more"
    (tmp_path / "my spec.md").write_text("# Shop\n")
    said = next_step(Stage.WEAK_TESTS, "WO-02", plan=PlanAtHand(plan))
    assert f"`llmch plan --spec 'my spec.md' --from {plan}`" in said
