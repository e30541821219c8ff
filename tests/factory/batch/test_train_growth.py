"""What the schedule and the train take of the processor, in long plans beside short ones."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from factory.batch.order_graph import OrderGraph
from tests.factory.batch.test_train import Fate, Run, independent

pytestmark = pytest.mark.rest


SHORT, LONG = 500, 2000
# Four times the orders: what is linear takes 4 times as long, what is quadratic 16 times.
AT_MOST = 8


def chain(count: int) -> OrderGraph:
    """Return a plan in which each order needs the one before."""
    return _graph([frozenset({n - 1} if n else ()) for n in range(count)])


def fan(count: int) -> OrderGraph:
    """Return a plan whose second half needs, with its first order, all of the first half."""
    half = frozenset(range(count // 2))
    later = (frozenset({len(half)}) for _ in range(len(half) + 1, count))
    return _graph([*(frozenset[int]() for _ in half), half, *later])


def _graph(needs: list[frozenset[int]]) -> OrderGraph:
    ids = independent(len(needs)).ids
    return OrderGraph(ids, ids, tuple(needs))


def seconds_of(graph: OrderGraph, every: int = 0) -> float:
    """Return what scheduling a plan takes of the processor; each order `every` fails."""
    count = len(graph.ids)
    fate = Fate(frozenset(range(0, count, every) if every else ()), 0)
    run = Run(graph, fate, True, 4)
    started = time.thread_time()
    run.to_the_end(())
    return time.thread_time() - started


@pytest.mark.parametrize("plan", [independent, chain, fan])
@pytest.mark.parametrize("every", [0, 10])
def test_a_long_plan_takes_no_more_for_each_order(
    plan: Callable[[int], OrderGraph], every: int
) -> None:
    short, long = plan(SHORT), plan(LONG)
    taken = [(seconds_of(short, every), seconds_of(long, every)) for _ in range(3)]
    # The best of each: other work on the machine only ever adds.
    assert min(each[1] for each in taken) < AT_MOST * min(each[0] for each in taken)
