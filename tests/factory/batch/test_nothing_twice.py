"""An order is known by its content, so no command lands it a second time."""

from __future__ import annotations

import pytest

from factory.orders.stages import OrderState
from tests.factory.batch.batching import each_writes, landed_on, loose_orders, step, wrote
from tests.factory.batch.taking_over import Person
from tests.harness import Factory, git


@pytest.mark.parametrize("between", [False, True])
def test_a_file_that_is_run_twice_lands_once(factory: Factory, between: bool) -> None:
    first = factory.run(step(1), [wrote(1)])
    if between:
        Person(factory).commits("other.txt")
    tip = factory.tip()
    again = factory.run(step(1), [])
    assert (again.verdict, again.state, again.commit) == ("PASS", "skipped", first.commit)
    assert (factory.tip(), landed_on(factory.repo)) == (tip, ["WO-01"])
    assert factory.model.requests == []


def test_a_file_that_is_run_twice_on_a_branch_by_its_content_lands_once(factory: Factory) -> None:
    first = factory.run(step(1), [wrote(1)], branch=None)
    again = factory.run(step(1), [], branch=None)
    assert (again.state, again.branch) == (OrderState.SKIPPED, first.branch)


def test_an_order_that_was_worded_anew_is_another_one(factory: Factory) -> None:
    factory.run(step(1), [wrote(1)])
    again = factory.run(step(1, intent="Write it better."), [wrote(1, "better\n")])
    assert again.state is OrderState.LANDED


def test_another_branch_has_to_have_it_made(factory: Factory) -> None:
    factory.run(step(1), [wrote(1)])
    assert factory.run(step(1), [wrote(1)], branch="other").state is OrderState.LANDED


@pytest.mark.parametrize("between", [False, True])
def test_a_folder_without_a_manifest_lands_once(factory: Factory, between: bool) -> None:
    folder = loose_orders(factory.scratch / "loose", step(1), step(2))
    factory.run_all(folder, each_writes(1, 2))
    if between:
        Person(factory).commits("other.txt")
    again = factory.run_all(folder, {})
    assert [each.state for each in again.orders] == ["skipped", "skipped"]


def test_an_order_of_a_folder_that_was_run_alone_is_not_made_again(factory: Factory) -> None:
    folder = loose_orders(factory.scratch / "loose", step(1), step(2))
    factory.run(folder / "WO-02.json", [wrote(2)])
    again = factory.run_all(folder, each_writes(1))
    assert [each.state for each in again.orders] == ["landed", "skipped"]
    assert git(factory.repo, "rev-list", "--count", "main..work") == "2"
