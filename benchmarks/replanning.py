"""What a changed specification costs, against planning all of it anew."""

from __future__ import annotations

from benchmarks.rows import Aim, Row, Section
from benchmarks.setting import Bench
from tests.planner.large_change import plan_a_change
from tests.planner.planning import Planner

_SHARE = 0.28


def measure_replanning(bench: Bench) -> Section:
    """Return the rows of one change in thirty requirements, whose ten orders have landed."""
    cost = plan_a_change(Planner(bench.folder("replanning")))
    change = cost.result.change
    assert change is not None, "a plan was made"
    return Section(
        "One change in 30 requirements, their 10 orders landed",
        (
            Row(
                name="prompt and reply",
                value=cost.change,
                unit="tokens",
                floor=cost.whole,
                floor_name="the whole plan",
                aim=Aim(factor=_SHARE),
                notes=f"estimated; {cost.calls} call",
            ),
            Row(
                name="orders to be asked for",
                value=len(change.added) + len(change.changed),
                unit="",
                aim=Aim(extra=1),
            ),
            Row(
                name="landed orders that changed",
                value=cost.landed_changed,
                unit="",
                aim=Aim(extra=0),
                notes="their files, byte for byte",
            ),
        ),
    )
