"""Tells which files and which declarations there are at each point of a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shared.languages.ecmascript.contracts.stub import Stub
from shared.languages.ecmascript.files import is_code
from shared.languages.ecmascript.json_text import read_table
from shared.languages.ecmascript.packages import LOCKS, MANIFEST


@dataclass(frozen=True, slots=True)
class OrderFiles:
    """Hold what one order does to files. The orders of a plan have the positions 1, 2, 3 ...

    `provides` are texts that the order surely puts in place.
    """

    position: int
    label: str
    writes: frozenset[str]
    possible: frozenset[str] = frozenset()
    stubs: tuple[Stub, ...] = ()
    provides: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layer:
    """Hold a stub with the position of the order that declares it."""

    position: int
    stub: Stub


@dataclass(frozen=True)
class History:
    """Hold the repository's `files` and `sources`, and what the orders add to them."""

    files: frozenset[str]
    sources: Mapping[str, str]
    orders: Sequence[OrderFiles] = ()

    def at(self, position: int) -> Moment:
        """Return the files as they are after the order at `position`; 0 is the repository."""
        return Moment(self, position)

    def layers(self, path: str, position: int) -> tuple[Layer, ...]:
        """Return the stubs of a file up to a position, in their order."""
        return tuple(each for each in self._layers.get(path, ()) if each.position <= position)

    def is_open(self, path: str, position: int) -> bool:
        """Return whether an order up to a position writes the file and declares nothing of it."""
        return any(each <= position for each in self._undeclared.get(path, ()))

    def declared_by(self, path: str, name: str, position: int) -> int | None:
        """Return the latest order up to a position that declares a name of a file."""
        found = [e.position for e in self.layers(path, position) if name in e.stub.declared]
        return found[-1] if found else None

    def declared_later(self, path: str, name: str, position: int) -> int | None:
        """Return the first order after a position that declares a name of a file."""
        for each in self._layers.get(path, ()):
            if each.position > position and name in each.stub.declared:
                return each.position
        return None

    def label(self, position: int) -> str:
        """Return the name of the order at a position; "the repo" for 0."""
        named = {each.position: each.label for each in self.orders}
        return named.get(position, "the repo")

    @property
    def last(self) -> int:
        """Return the position of the last order; 0 without orders."""
        return max((each.position for each in self.orders), default=0)

    @cached_property
    def _layers(self) -> Mapping[str, Sequence[Layer]]:
        found: dict[str, list[Layer]] = {}
        for order in self.orders:
            for stub in order.stubs:
                found.setdefault(stub.path, []).append(Layer(order.position, stub))
        return found

    @cached_property
    def _undeclared(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for order in self.orders:
            declared = {each.path for each in order.stubs}
            for path in (order.writes | order.possible) - declared - order.provides.keys():
                if is_code(path):
                    found.setdefault(path, []).append(order.position)
        return found


@dataclass(frozen=True)
class Moment:
    """Show the files after one order; it is a `packages.Tree`."""

    history: History
    position: int

    def has_file(self, path: str) -> bool:
        """Return whether the file is there, or may be."""
        return path in self.history.files or path in self._written

    def has_folder(self, path: str) -> bool:
        """Return whether a file below the folder is there, or may be."""
        return path in self._folders

    def text(self, path: str) -> str | None:
        """Return the text of a file as it surely is; `None` where an order may have written it."""
        if path in self._provided:
            return self._provided[path]
        return None if path in self._written else self.history.sources.get(path)

    @cached_property
    def paths(self) -> frozenset[str]:
        """Return the paths of all files that are there, or may be."""
        return self.history.files | self._written

    @cached_property
    def locks(self) -> tuple[str, ...]:
        """Return the texts of the lock files of packages."""
        names = [each for each in self.paths if each.rpartition("/")[2] in LOCKS]
        return tuple(text for each in names if (text := self.text(each)) is not None)

    def unread_manifests(self, above: Iterable[str]) -> Collection[str]:
        """Return those of the manifests that are there, or may be, and cannot be read."""
        return [e for e in above if self.has_file(e) and read_table(self.text(e)) is None]

    @property
    def root_manifest(self) -> str | None:
        """Return the text of the manifest in the root folder."""
        return self.text(MANIFEST)

    @cached_property
    def _orders(self) -> Sequence[OrderFiles]:
        return [each for each in self.history.orders if each.position <= self.position]

    @cached_property
    def _written(self) -> frozenset[str]:
        return frozenset().union(
            *(each.writes | each.possible | each.provides.keys() for each in self._orders)
        )

    @cached_property
    def _provided(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for order in self._orders:
            for path in order.writes | order.possible:
                found.pop(path, None)
            found.update(order.provides)
        return found

    @cached_property
    def _folders(self) -> frozenset[str]:
        found: set[str] = {""}
        for path in self.paths:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)
