"""How much a change costs against a whole plan, in tokens of prompts and replies."""

from __future__ import annotations

from typing import Final

from tests.planner.large_change import plan_a_change
from tests.planner.planning import Planner

_SHARE: Final = 0.27  # a whole plan repeats neither its ids nor what follows from its files


def test_one_change_among_thirty_costs_about_a_quarter_of_a_whole_plan(planner: Planner) -> None:
    """`make bench` prints the figures."""
    cost = plan_a_change(planner)
    assert (cost.calls, cost.landed_changed) == (1, 0)
    assert cost.result.change is not None
    assert cost.result.change.added == ("WO-11",)
    assert not cost.result.change.changed
    assert cost.change <= _SHARE * cost.whole
