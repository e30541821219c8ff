"""The forecast of a plan: made for a repo as it is, and reported before a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from factory.batch.batch import run_all
from factory.orders.read_orders import read_workdir
from factory.run.forecast import Forecast, size_plan
from factory.run.run_order import run_order
from shared.errors import BudgetReached
from shared.events.events import Event, Noted
from shared.llm.budget import Budget
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import Settings
from tests.factory.batch.batching import each_writes, step, wrote
from tests.fakes import ScriptedModel, proposal
from tests.harness import Factory, commit_all, git, manifest, order, write_plan, writing

WORDS = ("expected cost", "worst case")


def forecasts(factory: Factory) -> list[str]:
    return [each.message for each in factory.seen(Noted) if each.message.startswith(WORDS)]


def test_a_run_begins_with_what_it_costs(factory: Factory) -> None:
    plan = manifest([step(1), step(2)])
    factory.run_all(plan, each_writes(1, 2))
    expected, worst = forecasts(factory)
    assert expected.startswith("expected cost of running the plan: 3 calls, ")
    assert "assumed: 1.2 calls an order" in expected
    assert worst.startswith("worst case: 30 calls, ")


def test_orders_that_have_landed_cost_nothing_and_are_learned_from(factory: Factory) -> None:
    two = manifest([step(1), step(2, acceptance_commands=["false"])])
    factory.run_all(two, {**each_writes(1), "WO-02": [wrote(2), wrote(2, "two\n")]}, max_attempts=2)
    factory.run_all(two, {"WO-02": [wrote(2, "three\n"), wrote(2, "four\n")]}, max_attempts=2)
    expected, worst = forecasts(factory)
    assert expected.startswith("expected cost of running the plan: 2 calls, ")
    assert "(1.3 calls an order, by 2 orders of earlier runs)" in expected
    assert "(1 order x 2 attempts x 3 questions; " in worst


def test_a_run_with_nothing_left_to_do_tells_no_cost(factory: Factory) -> None:
    plan = manifest([step(1)])
    factory.run_all(plan, each_writes(1))
    factory.run_all(plan, {})
    assert forecasts(factory) == []


def test_a_single_order_begins_with_what_it_costs(factory: Factory) -> None:
    factory.run(step(1), each_writes(1)["WO-01"])
    expected, worst = forecasts(factory)
    assert expected.startswith("expected cost of running order WO-01: 2 calls, ")
    assert worst.startswith("worst case: 15 calls, ")
    factory.run(step(2), each_writes(2)["WO-02"])
    expected, _ = forecasts(factory)
    assert "(1.2 calls an order, by 1 order of earlier runs)" in expected


def test_a_replay_of_an_order_costs_nothing(factory: Factory) -> None:
    factory.run(step(1), each_writes(1)["WO-01"])
    events: list[Event] = []
    source = ModelSource(Mode.REPLAY, transcript=factory.run_folder / "transcript.jsonl")
    run_order(factory.save(step(1)), factory.options(branch="again"), source, events.append)
    assert any(isinstance(each, Noted) for each in events)
    assert not any(each.message.startswith(WORDS) for each in events if isinstance(each, Noted))


def test_a_replay_costs_nothing(factory: Factory) -> None:
    folder = write_plan(factory.scratch / "plan", manifest([step(1)]))
    factory.run_all(folder, each_writes(1))
    events: list[Event] = []
    source = ModelSource(Mode.REPLAY, transcript=factory.run_folder / "transcript.jsonl")
    run_all(folder, factory.options(branch="again"), source, events.append)
    assert any(isinstance(each, Noted) for each in events)
    assert not any(each.message.startswith(WORDS) for each in events if isinstance(each, Noted))


def forecast_plan(
    folder: Path, repo: Path | None, settings: Settings, branch: str | None = None
) -> Forecast:
    sized = size_plan(read_workdir(folder), repo, settings, branch)
    return sized.forecast(sized.sizes.keys())


def test_the_files_of_the_repo_count(factory: Factory) -> None:
    folder = write_plan(factory.scratch / "plan", manifest([order(context_files=["long.txt"])]))
    settings = Settings(artifacts_dir=factory.artifacts)
    before = forecast_plan(folder, factory.repo, settings)
    commit_all(factory.repo, {"long.txt": "x" * 40_000})
    after = forecast_plan(folder, factory.repo, settings)
    assert after.expected.input_tokens - before.expected.input_tokens > 10_000
    assert before == forecast_plan(folder, None, settings)
    git(factory.repo, "branch", "short", "HEAD~1")
    assert forecast_plan(folder, factory.repo, settings, "short") == before
    assert forecast_plan(folder, factory.repo, settings, "not-there") == after


def test_of_long_code_only_what_changes_is_shown_and_written(factory: Factory) -> None:
    many = writing("calc.py", context_files=[])
    folder = write_plan(factory.scratch / "plan", manifest([many]))
    settings = Settings(artifacts_dir=factory.artifacts)
    commit_all(factory.repo, {"calc.py": "x = 1\n" * 10_000})
    foreseen = forecast_plan(folder, factory.repo, settings).expected
    assert foreseen.input_tokens < 5_000
    assert foreseen.output_tokens < 1_500


def test_a_folder_that_is_no_repo_has_no_files(factory: Factory, tmp_path: Path) -> None:
    folder = write_plan(factory.scratch / "plan", manifest([order()]))
    (tmp_path / "empty").mkdir()
    settings = Settings(artifacts_dir=factory.artifacts)
    assert forecast_plan(folder, tmp_path / "empty", settings) == forecast_plan(
        folder, None, settings
    )


# What a request says of its reply, and what a cap makes of it


@pytest.mark.parametrize(("length", "tokens"), [(0, 2_334), (30_000, 11_001)])
def test_a_reply_is_expected_to_hold_the_files_that_it_writes(
    factory: Factory, length: int, tokens: int
) -> None:
    if length:
        commit_all(factory.repo, {"hello.txt": "x" * length})
    factory.run(order(), [proposal({"hello.txt": "hello\n" + "x" * length})])
    assert factory.model.requests[0].expected_output_tokens == tokens


def test_an_order_can_be_made_under_a_cap_below_the_output_limit(factory: Factory) -> None:
    folder = write_plan(factory.scratch / "plan", manifest([writing("1.txt")]))
    model = ScriptedModel({"WO-01": [wrote(1)]})
    source = ModelSource(Mode.LIVE, lambda emit: model, budget=Budget(max_tokens=6_000))
    options = factory.options()
    models = replace(options.models, max_output_tokens=32_000)
    events: list[Event] = []
    summary = run_all(folder, replace(options, models=models), source, events.append)
    assert summary.verdict == "PASS"
    limit = model.requests[0].max_output_tokens
    assert limit is not None
    assert 2_334 <= limit < 6_000
    said = [each.message for each in events if isinstance(each, Noted)]
    assert (
        f"factory WO-01 attempt 1: the cap leaves room for a reply of {limit:,} tokens instead "
        "of 32,000" in said
    )


def test_a_cap_below_what_an_order_needs_is_reached_before_it_is_asked_for(
    factory: Factory,
) -> None:
    folder = write_plan(factory.scratch / "plan", manifest([writing("1.txt")]))
    model = ScriptedModel({})
    source = ModelSource(Mode.LIVE, lambda emit: model, budget=Budget(max_tokens=2_400))
    with pytest.raises(BudgetReached, match="0 are spent, and the call of factory WO-01 attempt 1"):
        run_all(folder, factory.options(), source, lambda event: None)
    assert model.requests == []
