"""`retry`: one order of a plan again, with the words of a person, and nothing done twice."""

from __future__ import annotations

import pytest

from factory.orders.stages import OrderState
from shared.errors import InterruptedRun, InvalidInput, PreflightRefused
from shared.events.events import BatchEnded, Event, StageStarted, Warned
from tests.factory.batch.batching import each_writes, landed_on, loose_orders, step, wrote
from tests.factory.batch.taking_over import Person
from tests.fakes import refused
from tests.harness import Factory, Json, manifest


def plan(count: int = 3) -> Json:
    """Each order needs the one before."""
    needs = [[], *([f"WO-{number:02d}"] for number in range(1, count))]
    return manifest([step(n, depends_on=needs[n - 1]) for n in range(1, count + 1)])


def stopped_at_two(factory: Factory) -> Person:
    factory.run_all(plan(), {**each_writes(1), "WO-02": [refused()]}, max_attempts=1)
    return Person(factory)


def test_the_order_lands_and_the_rest_is_named(factory: Factory) -> None:
    summary = stopped_at_two(factory).retry("WO-02", [wrote(2)])
    assert (summary.work_order, summary.verdict, summary.state) == ("WO-02", "PASS", "landed")
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    (ended,) = factory.seen(BatchEnded)
    assert ended.next_step.startswith(f"`llmch run-all --workdir {factory.scratch / 'plan'}")
    assert ended.next_step.endswith("goes on with the other orders")
    again = factory.run_all(factory.scratch / "plan", each_writes(3))
    assert [each.state for each in again.orders] == ["skipped", "skipped", "landed"]


def test_the_hint_is_in_the_prompt_of_each_attempt_and_on_record(factory: Factory) -> None:
    person = stopped_at_two(factory)
    person.retry("WO-02", [refused(1), wrote(2)], hint="Write the digit two.", max_attempts=2)
    prompts = [each.prompt for each in factory.model.requests]
    assert len(prompts) == 2
    for prompt in prompts:
        assert prompt.count("# What the person who runs this task says to you") == 1
        assert "```\nWrite the digit two.\n```" in prompt
    described = {each["id"]: each.get("hint") for each in factory.record("run.json")["orders"]}
    assert described == {"WO-01": None, "WO-02": "Write the digit two.", "WO-03": None}


def test_without_a_hint_the_prompt_is_what_it_was(factory: Factory) -> None:
    person = stopped_at_two(factory)
    before = factory.prompt(1)
    person.retry("WO-02", [wrote(2)])
    assert factory.prompt() == before


@pytest.mark.rest
def test_a_hint_stays_until_another_one_or_none_is_given(factory: Factory) -> None:
    person = stopped_at_two(factory)
    for hint, said in (("first", "first"), (None, "first"), ("other", "other"), ("", "")):
        person.retry("WO-02", [refused()], hint=hint, max_attempts=1)
        assert ("says to you" in factory.prompt()) == bool(said)
        assert said in factory.prompt()


@pytest.mark.rest
def test_the_whole_plan_goes_on_with_the_hint(factory: Factory) -> None:
    person = stopped_at_two(factory)
    person.retry("WO-02", [refused()], hint="the hint", max_attempts=1)
    factory.run_all(factory.scratch / "plan", each_writes(2, 3))
    assert ["the hint" in each.prompt for each in factory.model.requests] == [True, False]


def test_an_order_whose_needs_have_not_landed_is_refused_by_name(factory: Factory) -> None:
    person = stopped_at_two(factory)
    with pytest.raises(PreflightRefused) as refusal:
        person.retry("WO-03", [], hint="not kept")
    assert refusal.value.message == "WO-03 needs WO-02, not yet on work"
    assert "`llmch retry WO-02`" in refusal.value.hint
    assert person.plan().decisions(person.place.common_dir) == {}


def test_an_order_that_has_landed_is_left_alone(factory: Factory) -> None:
    person = stopped_at_two(factory)
    tip = factory.tip()
    summary = person.retry("WO-01", [])
    assert (summary.verdict, summary.state, summary.commit) == ("PASS", "skipped", tip)
    assert factory.tip() == tip
    assert not factory.seen(Warned)
    person.retry("WO-01", [], hint="Better.")
    (said,) = factory.seen(Warned)
    assert f"WO-01 has landed as {tip[:12]} on work, so the hint is not used" in said.message
    assert "`llmch do TEXT --branch work`" in said.message
    assert person.plan().decisions(person.place.common_dir) == {}


def test_a_retry_that_was_cut_off_goes_on_from_its_own_replies(factory: Factory) -> None:
    person = stopped_at_two(factory)

    def interrupt(event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage == "verify":
            raise KeyboardInterrupt

    factory.on_event = interrupt
    with pytest.raises(InterruptedRun):
        person.retry("WO-02", [wrote(2)], hint="go on")
    factory.on_event = None
    summary = person.retry("WO-02", [], hint="go on")
    assert summary.state is OrderState.LANDED
    assert factory.model.requests == []


@pytest.mark.rest
def test_another_hint_is_never_answered_from_the_record(factory: Factory) -> None:
    person = stopped_at_two(factory)
    person.retry("WO-02", [refused()], hint="one", max_attempts=1)
    assert person.retry("WO-02", [wrote(2)], hint="two").state is OrderState.LANDED
    assert len(factory.model.requests) == 1


def test_the_plan_and_the_branch_are_those_of_the_latest_run(factory: Factory) -> None:
    factory.run_all(plan(1), {"WO-01": [refused()]}, max_attempts=1, branch="mine")
    found = Person(factory).plan()
    assert (found.path, found.branch) == (factory.scratch / "plan", "mine")
    elsewhere = Person(factory).plan(factory.scratch / "plan", "another")
    assert elsewhere.branch == "another"


def test_without_a_run_the_plan_has_to_be_named(factory: Factory) -> None:
    with pytest.raises(InvalidInput, match="no run of this repo"):
        Person(factory).plan()


def test_a_plan_that_is_gone_is_said_to_be(factory: Factory) -> None:
    person = stopped_at_two(factory)
    (factory.scratch / "plan").rename(factory.scratch / "moved")
    with pytest.raises(InvalidInput, match=r"is not in .*plan any more"):
        person.plan()
    assert person.plan(factory.scratch / "moved").branch == "work"


def test_an_order_in_a_file_of_its_own_is_made_again(factory: Factory) -> None:
    factory.run(step(1), [refused()], max_attempts=1)
    summary = Person(factory).retry("WO-01", [wrote(1)], hint="the digit")
    assert summary.state is OrderState.LANDED and "the digit" in factory.prompt()


def test_orders_without_a_manifest_are_told_apart_by_their_words(factory: Factory) -> None:
    folder = loose_orders(factory.scratch / "loose", step(1), step(2))
    factory.run_all(folder, {"WO-01": [refused()]}, max_attempts=1)
    person = Person(factory)
    person.retry("WO-01", [refused()], hint="the hint", max_attempts=1)
    loose_orders(folder, step(1, intent="Write it otherwise."), step(2))
    assert person.plan().decisions(person.place.common_dir) == {}


def test_an_order_that_the_plan_does_not_have(factory: Factory) -> None:
    with pytest.raises(InvalidInput, match="no order WO-09"):
        stopped_at_two(factory).retry("WO-09", [])


def test_a_record_that_cannot_be_read_names_no_plan(factory: Factory) -> None:
    person = stopped_at_two(factory)
    (factory.run_folder / "run.json").write_text("not JSON")
    with pytest.raises(InvalidInput, match="no run of this repo says"):
        person.plan()
