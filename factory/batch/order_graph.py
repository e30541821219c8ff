"""Which orders need which: derived from what each reads, writes and promises. Pure.

For orders i < j there is an edge from i to j where j can't be worked on before i is there: a
precondition of j that i promises, a file that j is shown and i writes, a file that both write. An
order that may touch anything (no allowed files, or a lock file) is a barrier: it needs all before
it, and all after it need it. What i reads and j writes is no edge: i works on a snapshot, and the
order of landing keeps the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.schemas import VERIFY_SCRIPT, WorkOrder

# Files that tools rewrite as a whole, from everything else in the repo.
_GENERATED = frozenset(
    {
        "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "pdm.lock",
        "Pipfile.lock", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock",
        "requirements.lock",
    }
)  # fmt: skip


@dataclass(frozen=True)
class OrderGraph:
    """The orders of a plan, by position from 0, and what each needs directly.

    `needs[j]` holds the positions before j whose result j is made on.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    needs: tuple[frozenset[int], ...]

    @cached_property
    def blocks(self) -> tuple[frozenset[int], ...]:
        """For each order, the later ones that need it directly."""
        found: list[set[int]] = [set() for _ in self.ids]
        for later, needed in enumerate(self.needs):
            for earlier in needed:
                found[earlier].add(later)
        return tuple(frozenset(each) for each in found)

    @cached_property
    def dependents(self) -> tuple[frozenset[int], ...]:
        """For each order, all later ones that cannot be there without it."""
        found: list[frozenset[int]] = [frozenset()] * len(self.ids)
        for position in range(len(self.ids) - 1, -1, -1):
            below = self.blocks[position]
            found[position] = below.union(*(found[each] for each in below))
        return tuple(found)

    def highest_need(self, position: int) -> int | None:
        """Return the last order that `position` needs; its landing is what it is made on."""
        return max(self.needs[position], default=None)

    @cached_property
    def critical_path(self) -> tuple[int, ...]:
        """The longest chain of orders that need each other, the first of several."""
        length = [1] * len(self.ids)
        before: list[int | None] = [None] * len(self.ids)
        for later, needed in enumerate(self.needs):
            for earlier in sorted(needed):
                if length[earlier] + 1 > length[later]:
                    length[later], before[later] = length[earlier] + 1, earlier
        if not length:
            return ()
        step: int | None = length.index(max(length))
        path: list[int] = []
        while step is not None:
            path.append(step)
            step = before[step]
        return tuple(reversed(path))


def derive_graph(orders: Sequence[WorkOrder]) -> OrderGraph:
    """Return the graph of a plan's orders, in their sequence. Linear in the paths they name."""
    writers: dict[str, list[int]] = {}
    positions = {order.id: position for position, order in enumerate(orders)}
    needs: list[frozenset[int]] = []
    barrier: int | None = None
    for position, order in enumerate(orders):
        if _is_barrier(order):
            needed = set(range(position))
            barrier = position
        else:
            needed = {writer for path in _touched(order) for writer in writers.get(path, ())}
            needed.update(_declared(order, positions, position))
            if barrier is not None:
                needed.add(barrier)
        needs.append(_direct(needed, needs))
        for path in {*order.allowed_files, *(each.path for each in order.postconditions)}:
            writers.setdefault(path, []).append(position)
    return OrderGraph(
        tuple(order.id for order in orders), tuple(order.title for order in orders), tuple(needs)
    )


def _is_barrier(order: WorkOrder) -> bool:
    if not order.allowed_files:
        return True
    return any(path.rpartition("/")[2] in _GENERATED for path in order.allowed_files)


def _touched(order: WorkOrder) -> set[str]:
    """Return what an order reads, needs or writes; its verification reads the script."""
    return {
        VERIFY_SCRIPT,
        *order.allowed_files,
        *order.context_files,
        *(each.path for each in order.preconditions),
    }


def _declared(order: WorkOrder, positions: Mapping[str, int], position: int) -> set[int]:
    """Return what a model says the order depends on: believed where it only adds an edge back."""
    named = (positions.get(each) for each in order.depends_on)
    return {each for each in named if each is not None and each < position}


def _direct(needed: set[int], needs: Sequence[frozenset[int]]) -> frozenset[int]:
    """Return `needed` without what the rest of it needs already."""
    implied: set[int] = set()
    for each in sorted(needed, reverse=True):
        if each not in implied:
            implied |= _all_needs(each, needs)
    return frozenset(needed - implied)


def _all_needs(position: int, needs: Sequence[frozenset[int]]) -> set[int]:
    found: set[int] = set()
    open_ends = list(needs[position])
    while open_ends:
        each = open_ends.pop()
        if each not in found:
            found.add(each)
            open_ends.extend(needs[each])
    return found
