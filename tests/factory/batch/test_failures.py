"""What a failure stops, what it leaves alone, and who is named as its cause."""

from __future__ import annotations

import signal
import threading

import pytest

from factory.orders.stages import OrderState
from shared.errors import BudgetReached, ModelUnavailable
from shared.llm.model_client import Request
from tests.factory.batch.batching import (
    after,
    answer,
    asked,
    counted,
    each_writes,
    landed_on,
    states,
    step,
    wrong,
    wrote,
)
from tests.harness import Factory, Json, git, manifest

WRONG = {"WO-01": [wrong], "WO-02": [wrong]}


def tree() -> Json:
    """2 and 4 need 1, 5 needs 4; 3 and 6 stand alone."""
    return manifest(
        [
            step(1),
            step(2, context_files=["1.txt"]),
            step(3),
            step(4, context_files=["1.txt"]),
            step(5, context_files=["4.txt"]),
            step(6),
        ]
    )


@pytest.mark.parametrize("jobs", [1, 4])
def test_with_keep_going_all_that_does_not_need_the_failed_order_lands(
    factory: Factory, jobs: int
) -> None:
    replies = {**each_writes(3, 6), "WO-01": [wrong]}
    summary = factory.run_all(tree(), replies, jobs=jobs, keep_going=True, max_attempts=1)
    assert states(summary) == ["failed", "blocked", "landed", "blocked", "blocked", "landed"]
    assert landed_on(factory.repo) == ["WO-03", "WO-06"]
    assert counted(factory) == {"WO-01": 1, "WO-03": 1, "WO-06": 1}
    blocked = [each for each in summary.orders if each.state == OrderState.BLOCKED]
    assert [each.warnings for each in blocked] == [("blocked by WO-01",)] * 3
    assert summary.verdict == "FAIL"


@pytest.mark.parametrize("jobs", [1, 4])
def test_without_it_lower_orders_land_and_later_ones_are_left(factory: Factory, jobs: int) -> None:
    replies = {**each_writes(3, 4, 5, 6), "WO-01": [after(0.2, wrote(1))], "WO-02": [wrong]}
    summary = factory.run_all(tree(), replies, jobs=jobs, max_attempts=1)
    assert states(summary) == ["landed", "failed", "pending", "pending", "pending", "pending"]
    assert landed_on(factory.repo) == ["WO-01"]
    assert summary.tip == factory.tip()


def test_the_blocked_are_told_from_the_merely_pending(factory: Factory) -> None:
    summary = factory.run_all(tree(), {"WO-01": [wrong]}, max_attempts=1)
    assert states(summary) == ["failed", "blocked", "pending", "blocked", "blocked", "pending"]
    assert factory.tip() == ""


@pytest.mark.parametrize("keep_going", [False, True])
@pytest.mark.parametrize("error", [ModelUnavailable("no such model"), BudgetReached("too much")])
def test_what_no_order_can_mend_ends_the_run_at_once(
    factory: Factory, keep_going: bool, error: Exception
) -> None:
    with pytest.raises(type(error)):
        factory.run_all(tree(), {"WO-01": [error]}, keep_going=keep_going)
    assert asked(factory) == ["WO-01"]
    summary = factory.record("run_summary.json")
    assert [each["state"] for each in summary["orders"]] == [
        "failed",
        "blocked",
        "pending",
        "blocked",
        "blocked",
        "pending",
    ]
    assert summary["verdict"] == "ERROR"


def test_orders_before_the_one_that_ends_the_run_still_land(factory: Factory) -> None:
    """3 meets the error while 1 is still being made; nothing after 3 is begun any more."""
    met = threading.Event()

    def slow(request: Request) -> str:
        assert met.wait(timeout=60)
        return answer(wrote(1), request)

    def at_once(request: Request) -> str:
        met.set()
        raise BudgetReached("too much")

    replies = {**each_writes(2), "WO-01": [slow], "WO-03": [at_once]}
    with pytest.raises(BudgetReached):
        factory.run_all(tree(), replies, jobs=2, keep_going=True)
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    assert "WO-06" not in asked(factory)


# Resuming


@pytest.mark.rest
def test_after_a_failure_the_same_call_goes_on(factory: Factory) -> None:
    factory.run_all(tree(), {**each_writes(1, 3), "WO-02": [wrong]}, max_attempts=1)
    summary = factory.run_all(tree(), each_writes(2, 3, 4, 5, 6), max_attempts=1, jobs=4)
    assert states(summary) == ["skipped", *["landed"] * 5]
    assert landed_on(factory.repo) == [f"WO-0{number}" for number in range(1, 7)]


def test_what_was_blocked_is_made_on_all_it_needs_although_that_landed_late(
    factory: Factory,
) -> None:
    """1 lands after 2: what needs both is made on 1, the last of them on the branch."""
    document = manifest([step(1), step(2), step(3, context_files=["1.txt", "2.txt"])])
    factory.run_all(document, {**each_writes(2), "WO-01": [wrong]}, max_attempts=1, keep_going=True)
    assert landed_on(factory.repo) == ["WO-02"]
    summary = factory.run_all(document, each_writes(1, 3), max_attempts=1)
    assert states(summary) == ["landed", "skipped", "landed"]
    assert landed_on(factory.repo) == ["WO-02", "WO-01", "WO-03"]
    prompt = factory.model.requests[-1].prompt
    assert "```\n1\n```" in prompt
    assert "```\n2\n```" in prompt


def test_a_commit_that_mends_what_was_missing_is_what_the_next_run_works_on(
    factory: Factory,
) -> None:
    document = manifest([step(1), step(2, acceptance_commands=["test -f mended"])])
    factory.run_all(document, {**each_writes(1), "WO-02": [wrote(2)]}, max_attempts=1)
    git(factory.repo, "switch", "--quiet", "work")
    (factory.repo / "mended").write_text("")
    git(factory.repo, "add", "mended")
    git(factory.repo, "commit", "--quiet", "--message=mend it")
    git(factory.repo, "switch", "--quiet", "main")
    summary = factory.run_all(document, each_writes(2), max_attempts=1)
    assert states(summary) == ["skipped", "landed"]
    assert asked(factory) == ["WO-02"]


def test_a_shallow_clone_goes_on_too(factory: Factory) -> None:
    """As a CI job has it: the commit at the end of its history has no parent to be seen."""
    document = manifest([step(1), step(2)])
    factory.run_all(document, {**each_writes(1), "WO-02": [wrong]}, max_attempts=1)
    source = factory.repo.rename(factory.scratch / "source")
    git(factory.scratch, "clone", "-q", "--depth=1", "-b", "work", f"file://{source}", "repo")
    git(factory.repo, "switch", "--quiet", "-c", "elsewhere")
    summary = factory.run_all(document, each_writes(2), max_attempts=1)
    assert states(summary) == ["skipped", "landed"]


@pytest.mark.rest
@pytest.mark.parametrize("jobs", [1, 4])
def test_after_an_interrupt_the_same_call_goes_on_and_asks_nothing_twice(
    factory: Factory, jobs: int
) -> None:
    """Ctrl-C comes while 2 is being made and others are done but not yet landed."""
    seen = threading.Event()

    def interrupt(request: Request) -> str:
        signal.raise_signal(signal.SIGINT)
        seen.wait(timeout=30)  # as a model would go on thinking
        return answer(wrote(2), request)

    replies = {**each_writes(1, 3, 4, 5, 6), "WO-02": [interrupt]}
    with pytest.raises(KeyboardInterrupt):
        factory.run_all(tree(), replies, jobs=jobs)
    seen.set()
    summary = factory.record("run_summary.json")
    assert summary["verdict"] == "ERROR"
    assert [each["state"] for each in summary["orders"]] == ["landed", *["pending"] * 5]
    assert factory.record("run.json")["status"] == "interrupted"
    assert list(factory.workspaces.iterdir()) == []
    first = asked(factory)
    summary_after = factory.run_all(tree(), each_writes(2, 3, 4, 5, 6), jobs=jobs)
    assert states(summary_after) == ["skipped", *["landed"] * 5]
    assert sorted([*first, *asked(factory)]) == [
        "WO-01", "WO-02", "WO-02", "WO-03", "WO-04", "WO-05", "WO-06",
    ]  # fmt: skip
