"""Which orders need which: derived from what each reads, writes and promises. Pure.

For orders i < j there is an edge from i to j where j can't be worked on before i is there: a
precondition of j that i promises, a file that i writes and that j is shown, writes too, or names
in a command (a module it imports, a script, a folder of tests), a file of one where the other has a
folder. An order that may touch anything (no allowed files, or a lock file) is a barrier: it needs
all before it, and all after it need it. What i reads and j writes is no edge: i works on a
snapshot, and the order of landing keeps the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from factory.batch.command_reads import named_paths
from shared.work_order.schemas import VERIFY_SCRIPT, WorkOrder

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

    def all_needs(self, position: int) -> frozenset[int]:
        """Return every order that must be there before this one, however indirectly."""
        found: set[int] = set()
        waiting = list(self.needs[position])
        while waiting:
            each = waiting.pop()
            if each not in found:
                found.add(each)
                waiting.extend(self.needs[each])
        return frozenset(found)

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
    positions = {order.id: position for position, order in enumerate(orders)}
    root = _Place()
    needs: list[frozenset[int]] = []
    known: list[int] = []
    barrier: int | None = None
    for position, order in enumerate(orders):
        if _is_barrier(order):
            needed = set(range(position))
            barrier = position
        else:
            needed = {each for path in _touched(order) for each in _writers_concerning(root, path)}
            needed.update(_declared(order, positions, position))
            if barrier is not None:
                needed.add(barrier)
        direct = _direct(needed, known)
        needs.append(frozenset(direct))
        known.append(_with_their_needs(direct, known))
        for path in {*order.allowed_files, *(each.path for each in order.postconditions)}:
            _claim(root, path, position)
    return OrderGraph(
        tuple(order.id for order in orders), tuple(order.title for order in orders), tuple(needs)
    )


@dataclass(slots=True)
class _Place:
    """A path that orders name: who writes it, who writes something below it, what lies there."""

    last_writer: int | None = None
    """Of several the last will do: it touches the path itself, so it needs the ones before."""
    writers_below: set[int] = field(default_factory=set)
    entries: dict[str, _Place] = field(default_factory=dict)


def _claim(root: _Place, path: str, position: int) -> None:
    """Take note that an order writes `path`."""
    place = root
    for name in path.split("/"):
        place.writers_below.add(position)
        place = place.entries.setdefault(name, _Place())
    place.last_writer = position


def _writers_concerning(root: _Place, path: str) -> Iterator[int]:
    """Yield who writes `path`, or a file where `path` has or is a folder."""
    place = root
    for name in path.split("/"):
        below = place.entries.get(name)
        if below is None:
            return
        place = below
        if place.last_writer is not None:
            yield place.last_writer
    yield from place.writers_below


def _is_barrier(order: WorkOrder) -> bool:
    return any(path.rpartition("/")[2] in _GENERATED for path in order.allowed_files)


def _touched(order: WorkOrder) -> frozenset[str]:
    """Return what an order reads, needs, writes or promises; its verification reads the script."""
    conditions = (*order.preconditions, *order.postconditions)
    return named_paths(order).union(
        (VERIFY_SCRIPT, *order.allowed_files, *order.context_files),
        (each.path for each in conditions),
    )


def _declared(order: WorkOrder, positions: Mapping[str, int], position: int) -> set[int]:
    """Return what a model says the order depends on: believed where it only adds an edge back."""
    named = (positions.get(each) for each in order.depends_on)
    return {each for each in named if each is not None and each < position}


def _direct(needed: set[int], known: Sequence[int]) -> list[int]:
    """Return `needed` without what the rest of it needs already."""
    direct: list[int] = []
    implied = 0
    for each in sorted(needed, reverse=True):
        if not implied >> each & 1:
            direct.append(each)
            implied |= known[each]
    return direct


def _with_their_needs(direct: Sequence[int], known: Sequence[int]) -> int:
    """Return all that is needed, however indirectly: a bit for each position."""
    found = 0
    for each in direct:
        found |= known[each] | 1 << each
    return found
