"""What earlier runs were told is not asked again, but for the orders it did not do for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.errors import BudgetReached
from shared.llm.model_client import Request
from tests.factory.batch.batching import (
    answer,
    asked,
    each_writes,
    landed_on,
    states,
    step,
    wrong,
    wrote,
)
from tests.fakes import Reply
from tests.harness import Factory, manifest

TWO_ALONE = manifest([step(1), step(2)])


def after_which(act: Callable[[], object], reply: Reply) -> Reply:
    """Return a reply that goes on record, and then something happens."""

    def answered(request: Request) -> str:
        act()
        return answer(reply, request)

    return answered


def out_of_budget(request: Request) -> str:
    raise BudgetReached("too much")


def test_what_another_order_was_told_before_one_failed_is_not_asked_again(
    factory: Factory,
) -> None:
    """2 is made side by side with 1, but does not land after it failed."""
    told = threading.Event()
    replies: dict[str, list[Reply]] = {
        "WO-01": [after_which(lambda: told.wait(60), wrong)],
        "WO-02": [after_which(told.set, wrote(2))],
    }
    first = factory.run_all(TWO_ALONE, replies, jobs=2, max_attempts=1)
    assert states(first) == ["failed", "pending"]
    assert sorted(asked(factory)) == ["WO-01", "WO-02"]
    assert states(factory.run_all(TWO_ALONE, each_writes(1), jobs=2)) == ["landed", "landed"]
    assert asked(factory) == ["WO-01"]


def test_what_failed_is_asked_anew_although_it_was_resumed_when_it_did(factory: Factory) -> None:
    """The replies that failed are on record twice: where they came, and where they were reused."""
    document = manifest([step(1, acceptance_commands=["grep -q right 1.txt"])])
    with pytest.raises(BudgetReached):
        factory.run_all(document, {"WO-01": [wrote(1, "wrong"), out_of_budget]}, max_attempts=2)
    resumed = factory.run_all(document, {"WO-01": [wrote(1, "wrong too")]}, max_attempts=2)
    assert (states(resumed), len(factory.model.requests)) == (["failed"], 1)
    anew = factory.run_all(document, {"WO-01": [wrote(1, "right")]}, max_attempts=2)
    assert states(anew) == ["landed"]
    assert [each.place.attempt for each in factory.model.requests] == [1]


def test_what_failed_is_asked_anew_also_by_a_run_that_resumes_one_that_did_so(
    factory: Factory,
) -> None:
    document = manifest([step(1, acceptance_commands=["grep -q right 1.txt"])])
    factory.run_all(document, {"WO-01": [wrote(1, "wrong")]}, max_attempts=1)
    with pytest.raises(BudgetReached):
        factory.run_all(document, {"WO-01": [out_of_budget]}, max_attempts=1)
    anew = factory.run_all(document, {"WO-01": [wrote(1, "right")]}, max_attempts=1)
    assert (states(anew), len(factory.model.requests)) == (["landed"], 1)


def test_a_reply_that_the_disk_refused_to_write_is_not_asked_again(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    system_replace = os.replace

    def refuse(source: str, place: str, **where: int) -> None:
        if place == "1.txt":
            raise OSError(28, "No space left on device")
        system_replace(source, place, **where)

    with monkeypatch.context() as full:
        full.setattr(os, "replace", refuse)
        assert states(factory.run_all(manifest([step(1)]), each_writes(1))) == ["failed"]
    assert factory.record("run_summary.json")["orders"][0]["failure"]["stage"] == "environment"
    assert states(factory.run_all(manifest([step(1)]), {})) == ["landed"]
    assert asked(factory) == []


def test_what_a_run_that_passed_was_told_is_judged_afresh_by_the_next(
    factory: Factory, tmp_path: Path
) -> None:
    """The reply did under the circumstances of then, and the order is asked for where it now is."""
    wanted = tmp_path / "wanted"
    wanted.write_text("first\n")
    document = manifest([step(1, acceptance_commands=[f"grep -q -F -f {wanted} 1.txt"])])
    assert states(factory.run_all(document, {"WO-01": [wrote(1, "first\n")]})) == ["landed"]
    assert states(factory.run_all(document, {}, branch="same")) == ["landed"]
    wanted.write_text("second\n")
    other = factory.run_all(document, {"WO-01": [wrote(1, "second\n")]}, branch="other")
    assert states(other) == ["landed"]
    assert [each.place.attempt for each in factory.model.requests] == [2]
    assert landed_on(factory.repo, "other") == ["WO-01"]
