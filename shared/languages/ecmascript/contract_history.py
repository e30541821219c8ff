"""Tells which files and which declarations there are at each point of a plan."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.declaration_stubs import Stub, parse_stub, without_names
from shared.languages.ecmascript.ecmascript_syntax import LOCKS, is_code
from shared.languages.planned_code import TextFault

if TYPE_CHECKING:
    from shared.languages.planned_code import Chain, DeclaredStub


_DECLARES: Final = "type|interface|const|let|var|function|class|namespace|enum|module"
# Files that declare names for all code, set up tests, or say what a tool takes for a global name.
_DECLARATIONS: Final = re.compile(r"\.d\.[cm]?ts$")
_SETUPS: Final = re.compile(r"setup", re.IGNORECASE)
_CONFIGS: Final = re.compile(r"\.config\.|eslintrc")


@dataclass(frozen=True, slots=True)
class Layer:
    """Hold a stub with the position of the order that declares it."""

    position: int
    stub: Stub


@dataclass(frozen=True)
class History:
    """Hold a chain of orders with its stubs read."""

    chain: Chain
    _moments: dict[int, Moment] = field(default_factory=dict, init=False)
    _left: dict[tuple[int, frozenset[str]], Layer] = field(default_factory=dict, init=False)

    def at(self, position: int) -> Moment:
        """Return the files as they are after the order at `position`; 0 is the repository."""
        return self._moments.setdefault(position, Moment(self.chain, position))

    def layers(self, path: str, position: int) -> tuple[Layer, ...]:
        """Return the stubs of a file up to a position, in their order.

        A name that an order up to there changes and no longer declares is left out of the stubs
        before that order.
        """
        found = (each for each in self._layers.get(path, ()) if each.position <= position)
        return tuple(self._as_left(each, position) for each in found)

    def _as_left(self, layer: Layer, position: int) -> Layer:
        gone = frozenset(
            name
            for at, name in self._gone.get(layer.stub.path, ())
            if layer.position < at <= position and name in layer.stub.declared
        )
        if not gone:
            return layer
        key = (id(layer), gone)
        if key not in self._left:
            self._left[key] = replace(layer, stub=without_names(layer.stub, gone))
        return self._left[key]

    def is_open(self, path: str, position: int) -> bool:
        """Return whether an order up to a position writes the file and declares nothing of it."""
        return any(each <= position for each in self._undeclared.get(path, ()))

    def declared_by(self, path: str, name: str, position: int) -> int | None:
        """Return the latest order up to a position that declares a name of a file."""
        layers = reversed(self.layers(path, position))
        return next((e.position for e in layers if name in e.stub.declared), None)

    def declared_later(self, path: str, name: str, position: int) -> int | None:
        """Return the first order after a position that declares a name of a file."""
        later = (e for e in self._layers.get(path, ()) if e.position > position)
        return next((e.position for e in later if name in e.stub.declared), None)

    def may_be_global(self, name: str) -> bool:
        """Return whether a file that nobody imports may declare or make a name for all code."""
        word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
        shapes = {
            _DECLARATIONS: re.compile(rf"\b(?:{_DECLARES})\s+{word}"),
            _SETUPS: re.compile(
                rf"(?:\b(?:globalThis|global|window|self)\b|Global\()[^;\n]*{word}"
            ),
            _CONFIGS: re.compile(rf"\b(?:globals|define)\b.*{word}['\"\]]*\s*:", re.DOTALL),
        }
        named = ((posixpath.basename(each), each) for each in self.chain.listing)
        return any(
            shape.search(self.chain.sources.get(path) or "")
            for file, path in named
            for kind, shape in shapes.items()
            if kind.search(file)
        )

    @cached_property
    def stubs(self) -> Sequence[tuple[int, DeclaredStub, Stub | TextFault]]:
        """Return the stubs of files of JavaScript and TypeScript, with the orders' positions."""
        return [
            (order.position, each, _read(each))
            for order in self.chain.orders
            for each in order.interfaces
            if is_code(each.path)
        ]

    @cached_property
    def _gone(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        """Return, by path, the names that orders drop, with the orders' positions."""
        found: dict[str, list[tuple[int, str]]] = {}
        for order in self.chain.orders:
            own = [stub for at, _, stub in self.stubs if at == order.position]
            declared = {name for each in own if isinstance(each, Stub) for name in each.declared}
            dropped = {each.strip().removesuffix("()") for each in order.changes} - declared
            for path in order.allowed_files if dropped else ():
                found.setdefault(path, []).extend((order.position, name) for name in dropped)
        return found

    @cached_property
    def _layers(self) -> Mapping[str, Sequence[Layer]]:
        found: dict[str, list[Layer]] = {}
        for position, _, stub in self.stubs:
            if isinstance(stub, Stub):
                found.setdefault(stub.path, []).append(Layer(position, stub))
        return found

    @cached_property
    def _undeclared(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for order in self.chain.orders:
            declared = {
                each.path
                for position, each, stub in self.stubs
                if position == order.position and isinstance(stub, Stub)
            }
            given = {each.path for each in order.acceptance_files}
            for path in {*order.writes, *order.may_write} - declared - given:
                if is_code(path):
                    found.setdefault(path, []).append(order.position)
        return found


def _read(declared: DeclaredStub) -> Stub | TextFault:
    if declared.problem:
        return TextFault(declared.problem)
    return parse_stub(declared.path, declared.text)


@dataclass(frozen=True)
class Moment:
    """Show the files after one order; it is a `packages.Tree`."""

    chain: Chain
    position: int

    def has_file(self, path: str) -> bool:
        """Return whether the file is there, or may be."""
        return path in self._given or self.chain.is_there(path, self.position)

    def has_folder(self, path: str) -> bool:
        """Return whether a file below the folder is there, or may be."""
        folder = f"{path}/"
        return self.chain.files.may_be_folder(path, self.position) or any(
            each.startswith(folder) for each in self._given
        )

    def text(self, path: str) -> str | None:
        """Return the text of a file as it surely is; `None` if an order may have written it."""
        if path in self._given:
            return self._given[path]
        if path in self._written or self.chain.is_gone(path, self.position):
            return None
        return self.chain.sources.get(path)

    @cached_property
    def paths(self) -> frozenset[str]:
        """Return the paths of all files that are there, or may be."""
        paths = (*self.chain.listing, *self._written, *self._given)
        return frozenset(each for each in paths if not self.chain.is_gone(each, self.position))

    @property
    def is_blind(self) -> bool:
        """Return whether an order up to here could not be read."""
        return self.chain.is_blind(self.position)

    @cached_property
    def locks(self) -> tuple[str, ...]:
        named = (each for each in self.paths if posixpath.basename(each) in LOCKS)
        return tuple(text for each in sorted(named) if (text := self.text(each)) is not None)

    @cached_property
    def _written(self) -> frozenset[str]:
        orders = (each for each in self.chain.orders if each.position <= self.position)
        return frozenset(path for each in orders for path in (*each.writes, *each.may_write))

    @cached_property
    def _given(self) -> Mapping[str, str]:
        """Return the texts of the tests that the plan itself brings up to here."""
        found: dict[str, str] = {}
        for order in self.chain.orders:
            if order.position <= self.position:
                found |= {each.path: each.text for each in order.acceptance_files}
        return {p: text for p, text in found.items() if not self.chain.is_gone(p, self.position)}
