"""Tracks which orders have all that they need, and where the last of it landed. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from factory.batch.order_graph import OrderGraph

_IN_THE_START = -1
"""Numbers what was on the branch before the first landing that counts."""


@dataclass(slots=True)
class Readiness:
    """Follow the orders of a plan as they end, in time linear in the edges of its graph.

    An order is *settled* once it is over and all that it needs is settled. An order that is over
    may wait for that: where a person's commit stands for it, an order that it needs may land later.
    """

    graph: OrderGraph
    _landings: list[str] = field(default_factory=list)
    """The commits that landed, as they follow each other on the branch."""
    _numbers: dict[int, int] = field(default_factory=dict)
    """The number of each order's landing."""
    _on_branch: dict[int, bool] = field(default_factory=dict)
    """Whether an order that is over is on the branch."""
    _unsettled: list[int] = field(init=False)
    """How many of the orders that each order needs directly are not settled."""
    _last: dict[int, int] = field(default_factory=dict)
    """For each settled order, the last number among its own landing and all that it needs."""

    def __post_init__(self) -> None:
        self._unsettled = [len(each) for each in self.graph.needs]

    def number_landing(self, position: int, commit: str) -> None:
        """Record that an order's commit is the newest on the branch."""
        self._numbers[position] = len(self._landings)
        self._landings.append(commit)

    def end(self, position: int, *, on_branch: bool) -> None:
        """Record that an order is over, on the branch or not."""
        self._on_branch[position] = on_branch
        to_settle = [position]
        while to_settle:
            each = to_settle.pop()
            if self._unsettled[each] or each not in self._on_branch:
                continue
            own = self._numbers.get(each, _IN_THE_START)
            self._last[each] = max(own, self._last_need(each))
            for later in self.graph.blocks[each]:
                self._unsettled[later] -= 1
                to_settle.append(later)

    def is_ready(self, position: int) -> bool:
        """Return whether all that an order needs is settled and on the branch."""
        return not self._unsettled[position] and all(
            self._on_branch[each] for each in self.graph.needs[position]
        )

    def base_of(self, position: int, start: str) -> str:
        """Return the commit that landed last of all that a ready order needs; `start` if none."""
        last = self._last_need(position)
        return start if last == _IN_THE_START else self._landings[last]

    def _last_need(self, position: int) -> int:
        needs = self.graph.needs[position]
        return max((self._last[each] for each in needs), default=_IN_THE_START)
