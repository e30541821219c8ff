"""How much a change costs against a whole plan, in tokens of prompts and replies."""

from __future__ import annotations

from typing import Final

from tests.planner.large_change import plan_a_change
from tests.planner.planning import Planner

_SHARE: Final = 0.25


def test_one_change_among_thirty_costs_a_quarter_of_a_whole_plan_at_most(planner: Planner) -> None:
    """`make bench` prints the figures."""
    cost = plan_a_change(planner)
    assert (cost.calls, cost.landed_changed) == (1, 0)
    assert cost.result.change is not None
    assert cost.result.change.added == ("WO-11",)
    assert not cost.result.change.changed
    assert cost.change <= _SHARE * cost.whole
