"""`skip`: an order is left out, those that need it are blocked by name, and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.batch.schedule import Schedule
from factory.orders.stages import AcceptedCommit, Decision, DecisionKey, OrderState
from factory.record.journal import decisions_path, read_decisions, write_decision
from factory.record.run_status import read_status, render_status, status_document
from shared.errors import Busy, InvalidInput, PreflightRefused
from shared.events.events import BatchEnded, Noted
from tests.factory.batch.batching import each_writes, landed_on, step, wrote
from tests.factory.batch.taking_over import Person
from tests.factory.batch.test_schedule import START, all_needs, graph_of
from tests.fakes import proposal, refused
from tests.harness import Factory, Json, manifest, order


def plan(needing: bool = True) -> Json:
    """The third of four orders needs the second, and the fourth nothing."""
    needs = ["WO-02"] if needing else []
    return manifest([step(1), step(2), step(3, depends_on=needs), step(4)])


def stopped(factory: Factory, *, needing: bool = True) -> Person:
    replies = {**each_writes(1), "WO-02": [refused()]}
    factory.run_all(plan(needing), replies, max_attempts=1)
    return Person(factory)


def test_those_that_need_it_are_blocked_and_the_others_go_on(factory: Factory) -> None:
    decided = stopped(factory).skip("WO-02", "not wanted now")
    assert decided.blocked == ("WO-03",)
    summary = factory.run_all(factory.scratch / "plan", each_writes(4))
    assert [each.state for each in summary.orders] == ["skipped", "left_out", "blocked", "landed"]
    assert summary.verdict == "FAIL"
    assert summary.orders[2].warnings == ("blocked by WO-02",)
    notes = [each.message for each in factory.seen(Noted)]
    assert "WO-02 is left out: not wanted now; WO-03 needs it and cannot be made" in notes
    (ended,) = factory.seen(BatchEnded)
    assert ended.next_step.startswith("`llmch skip WO-02 --repo ")
    assert "--undo` takes up WO-02 again" in ended.next_step


def test_a_plan_is_done_without_an_order_that_nothing_needs(factory: Factory) -> None:
    stopped(factory, needing=False).skip("WO-02")
    summary = factory.run_all(factory.scratch / "plan", each_writes(3, 4))
    assert [each.state for each in summary.orders] == ["skipped", "left_out", "landed", "landed"]
    assert summary.verdict == "PASS"
    assert summary.orders[1].commit is None
    (ended,) = factory.seen(BatchEnded)
    assert ended.next_step == ""


def test_an_order_is_taken_up_again(factory: Factory) -> None:
    person = stopped(factory)
    person.skip("WO-02")
    for _ in range(2):  # the same command again ends right
        assert person.take_up("WO-02").blocked == ("WO-03",)
    summary = factory.run_all(factory.scratch / "plan", each_writes(2, 3, 4))
    assert summary.verdict == "PASS"


def test_a_retry_takes_it_up_as_well(factory: Factory) -> None:
    person = stopped(factory)
    person.skip("WO-02")
    assert person.retry("WO-02", [wrote(2)]).state is OrderState.LANDED
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    assert person.plan().decisions(person.place.common_dir) == {}


def test_a_retry_of_an_order_that_needs_it_names_the_way(factory: Factory) -> None:
    person = stopped(factory)
    person.skip("WO-02")
    with pytest.raises(PreflightRefused) as refusal:
        person.retry("WO-03", [])
    assert "`llmch skip WO-02 --undo`" in refusal.value.hint


def test_an_order_that_has_landed_cannot_be_left_out(factory: Factory) -> None:
    with pytest.raises(InvalidInput, match="WO-01 has landed as"):
        stopped(factory).skip("WO-01")


def test_a_person_s_own_file_may_stand_where_a_left_out_order_writes(factory: Factory) -> None:
    stopped(factory, needing=False).skip("WO-02")
    (factory.repo / "2.txt").write_text("mine\n")
    assert factory.run_all(factory.scratch / "plan", each_writes(3, 4)).verdict == "PASS"


@pytest.mark.rest
def test_another_branch_has_decisions_of_its_own(factory: Factory) -> None:
    stopped(factory, needing=False).skip("WO-02")
    summary = factory.run_all(factory.scratch / "plan", each_writes(1, 2, 3, 4), branch="other")
    assert [each.state for each in summary.orders] == ["landed"] * 4


def test_the_status_shows_what_was_decided(factory: Factory) -> None:
    person = stopped(factory)
    person.skip("WO-02", "not wanted now")
    status = read_status(person.place.common_dir)
    assert status is not None
    document = status_document(status, person.place.common_dir)
    decided = [each["decision"] for each in document["orders"]]
    assert decided == [
        None,
        {"hint": None, "left_out": "not wanted now", "accepted": None},
        *[None] * 2,
    ]
    assert render_status(document)[1][-1] == "left out: not wanted now"


def test_decisions_that_cannot_be_read_stop_everything(factory: Factory) -> None:
    person = stopped(factory)
    decisions_path(person.place.common_dir).write_text('{"format": 1, "decisions": [7]}')
    with pytest.raises(Busy, match=r"decisions\.json cannot be understood"):
        factory.run_all(factory.scratch / "plan", {})
    with pytest.raises(Busy, match=r"decisions\.json cannot be understood"):
        person.skip("WO-02")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ACCEPTED = st.builds(AcceptedCommit, TEXT, TEXT, st.tuples(TEXT), st.tuples())
DECISIONS = st.builds(Decision, TEXT, TEXT, st.none() | ACCEPTED)
KEYS = st.builds(DecisionKey, TEXT, TEXT, TEXT, TEXT)


@given(made=st.lists(st.tuples(KEYS, DECISIONS), max_size=6))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[DecisionKey, Decision]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("common")
    for key, decision in made:
        write_decision(folder, key, decision)
    last = dict(made)
    assert read_decisions(folder) == {k: d for k, d in last.items() if not d.is_empty}


NEEDS = st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=8)


@given(needs=NEEDS, out=st.sets(st.integers(0, 7)), landed=st.sets(st.integers(0, 7)))
def test_nothing_is_made_that_needs_a_left_out_order(
    needs: list[set[int]], out: set[int], landed: set[int]
) -> None:
    graph = graph_of(*({each for each in row if each < n} for n, row in enumerate(needs)))
    count = len(needs)
    there = {each: f"commit {each}" for each in landed if each < count}
    left = {each for each in out if each < count and each not in there}
    schedule = Schedule.of(graph, True, START, there, (), left)
    while startable := schedule.startable():
        schedule.states[startable[0]] = OrderState.JUDGED
        schedule.land(startable[0], "x")
    for position, state in enumerate(schedule.states):
        blocked = not all_needs(graph, position).isdisjoint(left)
        if position in there:
            assert state is OrderState.SKIPPED
        elif position in left:
            assert state is OrderState.LEFT_OUT
        else:
            assert state is (OrderState.BLOCKED if blocked else OrderState.LANDED)
    assert schedule.over


def test_an_order_without_a_plan_is_not_made_while_it_is_left_out(factory: Factory) -> None:
    path = factory.save(order())
    factory.run(path, [refused()], max_attempts=1)
    person = Person(factory)
    person.skip("WO-01", "not now")
    with pytest.raises(PreflightRefused, match="WO-01 is left out on work: not now") as caught:
        factory.run(path, [proposal({"hello.txt": "hello\n"})])
    assert "`llmch skip WO-01 --undo`" in caught.value.hint
    person.take_up("WO-01")
    command = person.plan().run_all("")
    assert command.startswith(f"llmch run --work-order {path} --branch work")
    assert factory.run(path, [proposal({"hello.txt": "hello\n"})]).verdict == "PASS"
