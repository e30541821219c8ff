"""Reads the stubs and tests of a planned chain, and projects the Python that they make."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from shared.languages.capabilities.chain import AcceptanceText, Chain, DeclaredStub, OrderCode
from shared.languages.capabilities.commands import Code
from shared.languages.python.code import read_code
from shared.languages.python.stubs.contracts import normal_changes
from shared.languages.python.stubs.merge import merge
from shared.languages.python.stubs.stubs import Stub, StubProblem, parse_stub
from shared.languages.python.views.views import Change, ModuleHistory

SUFFIXES = (".py", ".pyi")


@dataclass(frozen=True, slots=True)
class DeclaredInterface:
    """Represent one entry of an order's `interfaces`, at `index`, with its stub parsed."""

    index: int
    path: str
    stub: Stub | StubProblem


@dataclass(frozen=True, slots=True)
class TestCode:
    """Hold the code of an acceptance file that compiles."""

    file: AcceptanceText
    code: Code


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """Hold one order with its Python: the stubs that it declares, and the tests that it brings."""

    order: OrderCode
    interfaces: tuple[DeclaredInterface, ...]
    tests: tuple[TestCode, ...]

    @property
    def position(self) -> int:
        return self.order.position


@dataclass(frozen=True, slots=True)
class Project:
    """Hold a chain of orders, and the Python at every point of it."""

    chain: Chain
    orders: tuple[PlannedOrder, ...]
    history: ModuleHistory


def read_project(chain: Chain) -> Project:
    """Return the project's Python after each order, as every version of Python reads it."""
    orders = tuple(
        PlannedOrder(
            order,
            tuple(_parsed(each) for each in order.interfaces if each.path.endswith(SUFFIXES)),
            tuple(_compiled(order.acceptance_files)),
        )
        for order in chain.orders
    )
    removed: dict[int, list[str]] = {}
    for path, position in chain.files.removed.items():
        removed.setdefault(position, []).append(path)
    changes = [_change(each, removed.get(each.position, ())) for each in orders]
    history = ModuleHistory(chain.listing, chain.sources, changes, portable=True)
    return Project(chain, orders, history)


def _parsed(declared: DeclaredStub) -> DeclaredInterface:
    stub = StubProblem(declared.problem) if declared.problem else parse_stub(declared.text)
    return DeclaredInterface(declared.index, declared.path, stub)


def _compiled(files: Sequence[AcceptanceText]) -> list[TestCode]:
    read = (TestCode(each, read_code(each.text)) for each in files if each.path.endswith(SUFFIXES))
    return [each for each in read if each.code.problem is None]


def _change(planned: PlannedOrder, removed: Sequence[str]) -> Change:
    stubs: dict[str, list[ast.stmt]] = {}
    for each in planned.interfaces:
        if isinstance(each.stub, Stub):
            stubs[each.path] = merge(stubs.get(each.path, ()), each.stub.tree.body)
    order = planned.order
    return Change(
        writes=frozenset((*order.writes, *order.may_write)),
        stubs=stubs,
        changed=normal_changes(order.changes),
        removes=removed,
    )
