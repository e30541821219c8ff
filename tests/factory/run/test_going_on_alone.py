"""What is said to go on after a single order does: each advice is followed as it was given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from factory.orders.model_choice import Rung
from factory.orders.stages import AttemptStage, Stage
from factory.preflight import BranchPolicy
from factory.run.baseline import KeptBases
from shared.errors import BudgetReached, InterruptedRun, ModelUnavailable
from shared.events.events import AttemptFailed, CommandStarted, Event, StageStarted
from shared.llm.model_client import Request
from tests.fakes import proposal
from tests.harness import Factory, Json, factory_branch, git, manifest, order, stages, write_plan

pytestmark = pytest.mark.rest


GOOD = proposal({"hello.txt": "hello\n"})
BAD = proposal({"stray.txt": "x\n"})

OPTIONS: dict[str, dict[str, Any]] = {
    "a branch": {"branch": "work"},
    "a branch of its own": {"branch": None},
    "a new branch": {"branch": "work", "policy": BranchPolicy.CREATE},
    "a commit": {"branch": "work", "start": "HEAD~0"},
}


def interrupted(
    factory: Factory, options: dict[str, Any], at: str, document: Json | Path | None = None
) -> str:
    """Interrupt the order where `at` begins; return what is said of going on."""

    def interrupt(event: Event) -> None:
        on_base = isinstance(event, CommandStarted) and event.order == at
        if on_base or (isinstance(event, StageStarted) and event.stage == at):
            raise KeyboardInterrupt

    factory.on_event = interrupt
    with pytest.raises(InterruptedRun) as caught:
        factory.run(document or order(), [GOOD], **options)
    factory.on_event = None
    return str(caught.value.hint)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("stage", ["base", *AttemptStage])
def test_after_an_interrupt_at_each_stage(factory: Factory, stage: str, name: str) -> None:
    if stage == AttemptStage.CONTRACT:
        pytest.skip("contract: the order declares no interface")
    said = interrupted(factory, OPTIONS[name], stage)
    assert said == "the state is kept: the same command again goes on from here"
    paid_before = stage not in ("base", AttemptStage.PROPOSE)
    again = factory.run(order(), [] if paid_before else [GOOD], **OPTIONS[name])
    assert again.verdict == "PASS"
    assert len(factory.model.requests) == (0 if paid_before else 1)


def test_after_an_interrupt_an_order_of_a_plan_goes_on_on_its_branch(factory: Factory) -> None:
    path = write_plan(factory.scratch / "plan", manifest([order()])) / "WO-01.json"

    interrupted(factory, {"branch": None}, AttemptStage.VERIFY, path)
    again = factory.run(path, [], branch=None)
    assert (again.verdict, again.branch) == ("PASS", factory_branch(factory.repo))


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(
    "error", [BudgetReached("the cap", "raise it"), ModelUnavailable("no key", "get one")]
)
def test_after_an_error_of_the_model_what_was_paid_is_used(
    factory: Factory, name: str, error: Exception
) -> None:
    with pytest.raises(type(error)):
        factory.run(order(), [BAD, error], **OPTIONS[name])
    again = factory.run(order(), [GOOD], **OPTIONS[name])
    assert stages(again) == [Stage.WRITE_SCOPE_VIOLATION, ""]
    assert len(factory.model.requests) == 1, "the first reply is on record"


def next_steps(factory: Factory) -> list[str]:
    return [each.next_step for each in factory.seen(AttemptFailed)]


def test_after_a_failure_the_same_command_asks_anew(factory: Factory) -> None:
    assert factory.run(order(), [BAD], max_attempts=1).verdict == "FAIL"
    assert next_steps(factory) == ["no attempt is left"]
    assert factory.run(order(), [GOOD], max_attempts=1).verdict == "PASS"
    assert len(factory.model.requests) == 1


def test_where_the_model_is_stuck_a_larger_model_named_after_it_goes_on(factory: Factory) -> None:
    document: Json = order(acceptance_commands=["grep -q large hello.txt"])

    def reply(request: Request) -> str:
        return proposal({"hello.txt": request.model})(request)

    small = replace(factory.options().models, ladder=(Rung("small"),), attempts=5)
    failed = factory.run(document, [reply] * 9, models=small)
    assert stages(failed)[-1] == Stage.REPEATED
    assert "`--factory-model small,large`" in next_steps(factory)[-1]
    both = replace(small, ladder=(Rung("small"), Rung("large")))
    assert factory.run(document, [reply] * 9, models=both).verdict == "PASS"
    assert factory.model.requests[-1].model == "large"


def test_an_interrupted_base_counts_as_not_verified(factory: Factory) -> None:
    interrupted(factory, OPTIONS["a branch"], "base")
    assert not KeptBases.of(factory.repo / ".git").path.exists()
    assert git(factory.repo, "worktree", "list").count("\n") == 0
