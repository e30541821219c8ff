"""Derives which orders need which, and draws the graph.

For orders i < j there is an edge from i to j where j cannot be made before i is there:

- i promises a precondition of j;
- i writes a file that j is shown, writes too, or names in a command (a module that the command
  imports, a script, a folder of tests);
- one of the two has a file where the other has a folder;
- i reads, writes or removes a file that j removes, or a folder that holds it;
- i writes a manifest, such as `package.json`, and j has a path in its folder or below. The manifest
  says which packages the commands of j find, and how its tests are run.

An order that may touch anything, because it writes a lock file, is a barrier: it needs all orders
before it, and all orders after it need it. If i reads what j writes there is no edge: i works on
a snapshot, and orders land in the plan's sequence. Removing a file counts as writing it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from typing import Any

from factory.workbench.dependencies import manifests_among
from shared.files.paths import VERIFY_SCRIPT
from shared.languages.acceptance_commands import analyse_command
from shared.languages.read_commands import Command
from shared.languages.registry import LANGUAGES, language_named
from shared.projects.build_tools import LOCK_FILES
from shared.work_order.work_order import AcceptanceFile, WorkOrder

_WORD = re.compile(r"[\w./-]+")
_MAX_WORDS = 40  # of one line


def named_paths(order: WorkOrder) -> frozenset[str]:
    """Return the files and folders that an order's acceptance commands and tests may read.

    Their texts alone decide. Too many paths do no harm: a path that no earlier order writes means
    nothing.
    """
    commands = (
        path
        for text in order.acceptance_commands
        for path in _paths_of_command(analyse_command(text))
    )
    files = (path for each in order.acceptance_files for path in _paths_of_test(each))
    return frozenset((*commands, *files))


def _paths_of_test(file: AcceptanceFile) -> Iterator[str]:
    """Yield the paths that a test may name, from the root or from its folder, and its modules."""
    folder = posixpath.dirname(file.path)
    for line in file.text.splitlines():
        words = _WORD.findall(line)[:_MAX_WORDS]
        for word in words:
            for path in (word, posixpath.join(folder, word)):
                yield posixpath.normpath(path)
                yield from (f"{posixpath.normpath(path)}{suffix}" for suffix in _suffixes())
            yield from _paths_of_module(word)
        if words[:1] == ["from"]:
            for name in words[2:]:
                yield from _paths_of_module(f"{words[1]}.{name}")


@cache
def _suffixes() -> tuple[str, ...]:
    return tuple(suffix for each in LANGUAGES for suffix in each.suffixes)


def _paths_of_command(command: Command) -> Iterator[str]:
    for word in command.argv:  # the first may be a script of the repo
        # `tests/test_a.py::test_b` names a file to pytest.
        yield posixpath.normpath(word.partition("::")[0])
    language = language_named(command.language)
    if language is not None and language.commands is not None:
        yield from language.commands.read_paths(command)


def _paths_of_module(module: str) -> Iterator[str]:
    """Yield the paths that a module of any language may have, by its name."""
    for each in LANGUAGES:
        if each.commands is not None:
            yield from each.commands.module_paths(module)


@dataclass(frozen=True)
class OrderGraph:
    """Hold the orders of a plan, by position from 0, and what each needs directly.

    `needs[j]` holds the positions before j whose result j is made on.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    needs: tuple[frozenset[int], ...]

    @cached_property
    def blocks(self) -> tuple[frozenset[int], ...]:
        """Return for each order the later ones that need it directly."""
        found: list[set[int]] = [set() for _ in self.ids]
        for later, needed in enumerate(self.needs):
            for earlier in needed:
                found[earlier].add(later)
        return tuple(frozenset(each) for each in found)

    def all_dependents(self, position: int) -> frozenset[int]:
        """Return every later order that needs this one, however indirectly."""
        found: set[int] = set()
        to_follow = [position]
        while to_follow:
            new = self.blocks[to_follow.pop()] - found
            found |= new
            to_follow.extend(new)
        return frozenset(found)

    @cached_property
    def critical_path(self) -> tuple[int, ...]:
        """Return the longest chain of orders that need each other, or the first of several."""
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
    """Return the graph of a plan's orders, in their sequence, in time linear in their paths."""
    positions = {order.id: position for position, order in enumerate(orders)}
    root = _PathNode()
    needs: list[frozenset[int]] = []
    known: list[int] = []
    barrier: int | None = None
    manifests: dict[str, int] = {}
    users: dict[str, set[int]] = {}
    has_removals = any(order.removed_files for order in orders)
    for position, order in enumerate(orders):
        if _is_barrier(order):
            needed = set(range(position))
            barrier = position
        else:
            needed = {each for path in _touched(order) for each in _writers_concerning(root, path)}
            needed.update(_declared(order, positions, position))
            needed.update(_writers_of_manifests(order, manifests))
            needed.update(_users_of_removed(order, users))
            if barrier is not None:
                needed.add(barrier)
        direct = _direct(needed, known)
        needs.append(frozenset(direct))
        known.append(_with_their_needs(direct, known))
        for path in _written(order):
            _claim(root, path, position)
        for path in manifests_among((*order.allowed_files, *order.removed_files)):
            manifests[path.rpartition("/")[0]] = position
        for path in _touched(order) if has_removals else ():
            users.setdefault(path, set()).add(position)
    return OrderGraph(
        tuple(order.id for order in orders), tuple(order.title for order in orders), tuple(needs)
    )


@dataclass(slots=True)
class _PathNode:
    """Record who writes a path, who writes something below it, and which paths lie in it."""

    last_writer: int | None = None
    """The last of several writers is enough: it writes the path too, so it needs the others."""
    writers_below: set[int] = field(default_factory=set)
    entries: dict[str, _PathNode] = field(default_factory=dict)


def _claim(root: _PathNode, path: str, position: int) -> None:
    place = root
    for name in path.split("/"):
        place.writers_below.add(position)
        place = place.entries.setdefault(name, _PathNode())
    place.last_writer = position


def _writers_concerning(root: _PathNode, path: str) -> Iterator[int]:
    """Yield the orders that write `path`, something below it, or a file where it has a folder."""
    place = root
    for name in path.split("/"):
        below = place.entries.get(name)
        if below is None:
            return
        place = below
        if place.last_writer is not None:
            yield place.last_writer
    yield from place.writers_below


def _writers_of_manifests(order: WorkOrder, manifests: Mapping[str, int]) -> Iterator[int]:
    """Yield the orders that wrote a manifest last, for each folder that holds a path of `order`.

    The last of several in a folder is enough: it has a path there, so it needs the others.
    """
    if not manifests:
        return
    for path in _touched(order):
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in manifests:
                yield manifests[folder]


def _users_of_removed(order: WorkOrder, users: Mapping[str, set[int]]) -> Iterator[int]:
    """Yield the orders that touch a file which `order` removes, or a folder that holds it."""
    for path in order.removed_files:
        place = path
        while place:
            yield from users.get(place, ())
            place = place.rpartition("/")[0]


def _is_barrier(order: WorkOrder) -> bool:
    paths = (*order.allowed_files, *order.removed_files)
    return any(path.rpartition("/")[2] in LOCK_FILES for path in paths)


def _written(order: WorkOrder) -> frozenset[str]:
    promised = (each.path for each in order.postconditions)
    placed = (each.path for each in order.acceptance_files)
    return frozenset((*order.allowed_files, *promised, *placed, *order.removed_files))


def _touched(order: WorkOrder) -> frozenset[str]:
    """Return the paths that an order reads (the verify script too), needs, writes or promises."""
    return named_paths(order).union(
        (VERIFY_SCRIPT, *order.context_files),
        (each.path for each in order.preconditions),
        _written(order),
    )


def _declared(order: WorkOrder, positions: Mapping[str, int], position: int) -> set[int]:
    """Return the earlier orders that a model says the order depends on; others are ignored."""
    named = (positions.get(each) for each in order.depends_on)
    return {each for each in named if each is not None and each < position}


def _direct(needed: set[int], known: Sequence[int]) -> list[int]:
    """Return `needed` without the orders that another one of `needed` needs already."""
    direct: list[int] = []
    implied = 0
    for each in sorted(needed, reverse=True):
        if not implied >> each & 1:
            direct.append(each)
            implied |= known[each]
    return direct


def _with_their_needs(direct: Sequence[int], known: Sequence[int]) -> int:
    """Return `direct` and all that those orders need, with a bit for each position."""
    found = 0
    for each in direct:
        found |= known[each] | 1 << each
    return found


class GraphFormat(StrEnum):
    """Name a format in which a graph is printed."""

    TREE = "tree"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def render_tree(graph: OrderGraph) -> list[str]:
    """Return a line for each order with what it needs, and at the end the critical path."""
    critical = set(graph.critical_path)
    width = max((len(each) for each in graph.ids), default=0)
    lines = []
    for position, name in enumerate(graph.ids):
        needs = ", ".join(graph.ids[each] for each in sorted(graph.needs[position]))
        mark = "*" if position in critical else " "
        after = f"  (after {needs})" if needs else "  (at once)"
        title = " ".join(graph.titles[position].split())
        lines.append(f"{mark} {name:<{width}}  {title}{after}")
    path = " -> ".join(graph.ids[each] for each in graph.critical_path)
    count = len(graph.critical_path)
    lines += ["", f"* critical path, {count} of {len(graph.ids)} orders: {path}"]
    return lines


def render_mermaid(graph: OrderGraph) -> list[str]:
    lines = ["flowchart TD"]
    for position, name in enumerate(graph.ids):
        title = " ".join(graph.titles[position].split()).replace('"', "#quot;")
        lines.append(f'    {name}["{name} {title}"]')
    lines += [f"    {before} --> {after}" for before, after in _edges(graph)]
    return lines


def render_dot(graph: OrderGraph) -> list[str]:
    lines = ["digraph orders {", "    node [shape=box];"]
    for position, name in enumerate(graph.ids):
        title = " ".join(graph.titles[position].split())
        label = f"{name} {title}".replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'    "{name}" [label="{label}"];')
    lines += [f'    "{before}" -> "{after}";' for before, after in _edges(graph)]
    return [*lines, "}"]


def graph_document(graph: OrderGraph) -> dict[str, Any]:
    """Return the graph as JSON: each order with what it needs and what it blocks."""
    return {
        "orders": [
            {
                "id": name,
                "title": graph.titles[position],
                "needs": [graph.ids[each] for each in sorted(graph.needs[position])],
                "blocks": [graph.ids[each] for each in sorted(graph.blocks[position])],
            }
            for position, name in enumerate(graph.ids)
        ],
        "critical_path": [graph.ids[each] for each in graph.critical_path],
    }


def _edges(graph: OrderGraph) -> list[tuple[str, str]]:
    return [
        (graph.ids[before], graph.ids[after])
        for after, needed in enumerate(graph.needs)
        for before in sorted(needed)
    ]
