"""What is said to go on does go on: each advice is followed here as it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from factory.orders.documents import BatchSummary
from factory.preflight import BranchPolicy
from shared.errors import BudgetReached, InterruptedRun, ModelUnavailable, PreflightRefused
from shared.events.events import BatchEnded, Event, StageStarted
from tests.fakes import Reply, proposal
from tests.harness import Factory, Json, git, manifest, writing

ONE, TWO = (proposal({f"{name}.txt": "x\n"}) for name in ("1", "2"))
BAD = proposal({"stray.txt": "x\n"})


def plan() -> Json:
    return manifest([writing("1.txt", 1), writing("2.txt", 2)])


def advice(factory: Factory) -> str:
    (ended,) = factory.seen(BatchEnded)
    return str(ended.next_step)


def obey(said: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the command that the advice names."""
    changed = dict(options)
    if "the same command with" not in said:
        assert "the same command again" in said
        return changed
    if "with --reuse-branch instead of --create-branch" in said:
        changed["policy"] = BranchPolicy.REUSE
    if "without --commit-hash" in said:
        del changed["start"]
    if found := re.search(r"with --branch (\S+)", said):
        changed["branch"] = found[1]
    return changed


OPTIONS: dict[str, dict[str, Any]] = {
    "a branch": {"branch": "work"},
    "the plan's branch": {"branch": None},
    "a new branch": {"branch": "work", "policy": BranchPolicy.CREATE},
    "a commit": {"branch": "work", "start": "HEAD~0"},
    "both": {"branch": "work", "start": "main", "policy": BranchPolicy.CREATE},
}


def goes_on(factory: Factory, said: str, options: Mapping[str, Any], work: Json) -> BatchSummary:
    again = factory.run_all(work, {"WO-02": [TWO]}, **obey(said, options))
    assert [each.state for each in again.orders] == ["skipped", "landed"], said
    return again


@pytest.mark.rest
@pytest.mark.parametrize("name", OPTIONS)
def test_after_a_failed_order(factory: Factory, name: str) -> None:
    options = {**OPTIONS[name], "max_attempts": 1}
    factory.run_all(plan(), {"WO-01": [ONE], "WO-02": [BAD]}, **options)
    assert advice(factory).endswith("asks for WO-02 anew")
    goes_on(factory, advice(factory), options, plan())


@pytest.mark.parametrize("name", OPTIONS)
def test_after_an_interrupt(factory: Factory, name: str) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, StageStarted) and event.order == "WO-02":
            raise KeyboardInterrupt

    factory.on_event = interrupt
    with pytest.raises(InterruptedRun) as interrupted:
        factory.run_all(plan(), {"WO-01": [ONE], "WO-02": [TWO]}, **OPTIONS[name])
    factory.on_event = None
    assert advice(factory) == "", "it is said once"
    goes_on(factory, interrupted.value.hint, OPTIONS[name], plan())


@pytest.mark.rest
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(
    "error", [BudgetReached("the cap", "raise it"), ModelUnavailable("no key", "get one")]
)
def test_after_an_error(factory: Factory, name: str, error: Exception) -> None:
    with pytest.raises(type(error)):
        factory.run_all(plan(), {"WO-01": [ONE], "WO-02": [error]}, **OPTIONS[name])
    assert advice(factory).startswith("once the error below is dealt with")
    goes_on(factory, advice(factory), OPTIONS[name], plan())


@pytest.mark.parametrize("name", ["a new branch", "both"])
def test_without_the_advice_it_would_not_go_on(factory: Factory, name: str) -> None:
    options = {**OPTIONS[name], "max_attempts": 1}
    factory.run_all(plan(), {"WO-01": [ONE], "WO-02": [BAD]}, **options)
    with pytest.raises(PreflightRefused):
        factory.run_all(plan(), {}, **options)


def test_a_new_branch_that_nothing_landed_on_can_be_demanded_again(factory: Factory) -> None:
    options = {**OPTIONS["both"], "max_attempts": 1}
    factory.run_all(plan(), {"WO-01": [BAD]}, **options)
    assert "the same command again" in advice(factory)
    again = factory.run_all(plan(), {"WO-01": [ONE], "WO-02": [TWO]}, **options)
    assert again.verdict == "PASS"


def test_orders_without_a_plan_go_on_on_their_branch(factory: Factory) -> None:
    folder = factory.scratch / "orders"
    folder.mkdir()
    for document in (writing("1.txt", 1), writing("2.txt", 2)):
        (folder / f"{document['id']}.json").write_text(json.dumps(document))
    options = {"branch": None, "max_attempts": 1}
    factory.run_all(folder, {"WO-01": [ONE], "WO-02": [BAD]}, **options)
    assert "the same command again" in advice(factory)
    again = factory.run_all(folder, {"WO-02": [TWO]}, **obey(advice(factory), options))
    assert [each.state for each in again.orders] == ["skipped", "landed"]


def test_a_plan_that_is_wrong_is_not_said_to_go_on(factory: Factory) -> None:
    missing = [{"kind": "file_exists", "path": "missing.txt"}]
    work = manifest([writing("1.txt", 1), writing("2.txt", 2, preconditions=missing)])
    factory.run_all(work, {"WO-01": [ONE]})
    command = f"llmch check {factory.scratch / 'plan'} --accept-edits"
    assert advice(factory).startswith(f"correct WO-02 and take the edit by `{command}`")
    again = factory.run_all(work, {})
    assert [each.state for each in again.orders] == ["skipped", "failed"]


def test_the_environment_is_to_be_fixed_first(factory: Factory) -> None:
    tool = factory.scratch / "tool"
    work = manifest(
        [writing("1.txt", 1), writing("2.txt", 2, acceptance_commands=["no-such-program"])]
    )
    factory.run_all(work, {"WO-01": [ONE], "WO-02": [TWO]})
    assert not tool.exists()
    assert advice(factory).startswith("install no-such-program")
    assert advice(factory).endswith("; then the same command again goes on where this one stopped")


def test_a_plan_that_passed_needs_no_advice(factory: Factory) -> None:
    replies: Mapping[str, Sequence[Reply]] = {"WO-01": [ONE], "WO-02": [TWO]}
    factory.run_all(plan(), replies)
    assert advice(factory) == ""
    assert git(factory.repo, "log", "--format=%s", "work").count("WO-") == 2
