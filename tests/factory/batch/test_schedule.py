"""The schedule, simulated: random graphs, random failures, and every order of completion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from factory.batch.order_graph import OrderGraph
from factory.batch.schedule import Schedule
from factory.orders.stages import OrderState

START = "start"


def graph_of(*needs: set[int]) -> OrderGraph:
    ids = tuple(f"WO-{number:02d}" for number in range(1, len(needs) + 1))
    return OrderGraph(ids, ids, tuple(frozenset(each) for each in needs))


def all_needs(graph: OrderGraph, position: int) -> set[int]:
    """Return every order that must be there before this one, however indirectly."""
    return {each for each in range(position) if position in graph.all_dependents(each)}


def fresh(graph: OrderGraph, keep_going: bool = False) -> Schedule:
    return Schedule.of(graph, keep_going, START, {}, ())


@dataclass
class Simulation:
    """What became of a plan whose `failing` orders fail, and on what each was made.

    `pick` decides which of the running orders is done next.
    """

    schedule: Schedule
    failing: frozenset[int]
    jobs: int
    bases: dict[int, str] = field(default_factory=dict)
    landing: list[int] = field(default_factory=list)
    most_at_once: int = 0

    def run(self, picks: Sequence[int]) -> Simulation:
        schedule, running, turns = self.schedule, list[int](), iter(picks)
        while not schedule.over:
            for position in schedule.startable()[: self.jobs - len(running)]:
                self.bases[position] = schedule.base_of(position)
                schedule.states[position] = OrderState.PROPOSING
                running.append(position)
            self.most_at_once = max(self.most_at_once, len(running))
            done = running.pop(next(turns, 0) % len(running))
            if schedule.states[done] is OrderState.PROPOSING:
                schedule.states[done] = OrderState.JUDGED
            while (turn := schedule.next_to_land()) is not None:
                if turn in self.failing:
                    schedule.fail(turn)
                else:
                    self.landing.append(turn)
                    schedule.land(turn, f"commit {turn}")
        return self


@st.composite
def graphs(draw: st.DrawFn) -> OrderGraph:
    count = draw(st.integers(1, 8))
    return graph_of(
        *(draw(st.sets(st.integers(0, later - 1), max_size=3)) if later else set[int]()
          for later in range(count))
    )  # fmt: skip


failures = st.frozensets(st.integers(0, 7), max_size=3)
turns = st.lists(st.integers(0, 7), max_size=20)
widths = st.integers(1, 8)


def expected(graph: OrderGraph, failing: frozenset[int], keep_going: bool) -> list[OrderState]:
    """Return what becomes of each order, told from the plan alone."""
    found: list[OrderState] = []
    for position in range(len(graph.ids)):
        needs = [found[each] for each in graph.needs[position]]
        if any(each in (OrderState.FAILED, OrderState.BLOCKED) for each in needs):
            found.append(OrderState.BLOCKED)
        elif OrderState.FAILED in found and not keep_going:
            found.append(OrderState.PENDING)
        else:
            found.append(OrderState.FAILED if position in failing else OrderState.LANDED)
    return found


@settings(max_examples=200, deadline=None)
@given(graphs(), failures, turns, widths, st.booleans())
def test_what_becomes_of_each_order_depends_on_the_plan_alone(
    graph: OrderGraph, failing: frozenset[int], picks: list[int], jobs: int, keep_going: bool
) -> None:
    done = Simulation(fresh(graph, keep_going), failing, jobs).run(picks)
    assert done.schedule.states == expected(graph, failing, keep_going)
    assert done.landing == sorted(done.landing)
    assert done.most_at_once <= jobs


@settings(max_examples=200, deadline=None)
@given(graphs(), failures, turns, widths, st.booleans())
def test_what_an_order_is_made_on_is_where_its_last_need_landed(
    graph: OrderGraph, failing: frozenset[int], picks: list[int], jobs: int, keep_going: bool
) -> None:
    done = Simulation(fresh(graph, keep_going), failing, jobs).run(picks)
    for position, base in done.bases.items():
        last = max(all_needs(graph, position), default=None)
        assert base == (START if last is None else f"commit {last}")


@settings(max_examples=100, deadline=None)
@given(graphs(), failures, turns)
def test_the_blocked_name_the_failed_order_at_the_root(
    graph: OrderGraph, failing: frozenset[int], picks: list[int]
) -> None:
    schedule = Simulation(fresh(graph, keep_going=True), failing, 8).run(picks).schedule
    for position, state in enumerate(schedule.states):
        if state is OrderState.BLOCKED:
            roots = {
                each
                for each in all_needs(graph, position)
                if schedule.states[each] is OrderState.FAILED
            }
            assert schedule.causes[position] == min(roots)
        else:
            assert position not in schedule.causes


@settings(max_examples=200, deadline=None)
@given(graphs(), failures, st.frozensets(st.integers(0, 7)), turns, widths)
def test_a_second_run_lands_all_that_the_first_left_and_on_what_they_need(
    graph: OrderGraph, failing: frozenset[int], too: frozenset[int], picks: list[int], jobs: int
) -> None:
    """Orders that failed at first land late: then the last of a need is not the highest one."""
    first = Simulation(fresh(graph, keep_going=True), failing | too, jobs).run(picks)
    branch = list(first.landing)
    landed = {position: f"commit {position}" for position in sorted(branch)}
    resumed = Schedule.of(graph, True, START, landed, branch)
    second = Simulation(resumed, frozenset(), jobs).run(picks)
    assert {*branch, *second.landing} == set(range(len(graph.ids)))
    branch += second.landing
    for position, base in second.bases.items():
        there = branch[: branch.index(int(base.split()[1])) + 1] if base != START else []
        assert all_needs(graph, position) <= set(there)


def test_an_order_is_made_on_the_latest_of_its_needs_on_the_branch_not_in_the_plan() -> None:
    graph = graph_of(set(), set(), {0, 1})
    resumed = Schedule.of(graph, True, START, {1: "second"}, [1])
    resumed.land(0, "first, landed late")
    assert resumed.base_of(2) == "first, landed late"


def test_what_landed_before_the_start_is_in_it() -> None:
    resumed = Schedule.of(graph_of(set(), {0}), False, "a commit of somebody's", {0: "older"}, ())
    assert resumed.startable() == [1]
    assert resumed.base_of(1) == "a commit of somebody's"


def test_nothing_starts_after_an_order_that_is_going_to_end_the_run() -> None:
    schedule = fresh(graph_of(*[set[int]()] * 4))
    schedule.foresee_end(2)
    schedule.foresee_end(3)
    assert schedule.startable() == [0, 1]


def test_what_is_stopped_is_left_for_another_run() -> None:
    schedule = fresh(graph_of(set(), set(), set()), keep_going=True)
    schedule.land(0, "first")
    schedule.states[1] = OrderState.PROPOSING
    schedule.stop()
    assert schedule.over
    assert schedule.states == [OrderState.LANDED, OrderState.PENDING, OrderState.PENDING]
