"""The contracts that orders carry, as they stand after a chain of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from shared.languages.python.stubs.declarations import declarations, qualified
from shared.languages.python.stubs.merge import merge, without
from shared.languages.python.stubs.stubs import Stub, parse_stub
from shared.work_order.schemas import Interface, WorkOrder


def contracts_in_force(orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return what is declared of each file after the last of `orders`, one stub for each file.

    Later declarations are laid over earlier ones; what an order's `changes` take away is gone.
    Stubs that do not parse declare nothing.
    """
    bodies: dict[str, list[ast.stmt]] = {}
    for order in orders:
        told: set[str] = set()
        for each in order.interfaces:
            stub = parse_stub(each.stub)
            if isinstance(stub, Stub):
                bodies[each.path] = merge(bodies.get(each.path, ()), stub.tree.body)
                told |= qualified(declarations(stub.tree.body))
        changed = normal_changes(order.changes)
        for path in order.allowed_files:
            if changed and path in bodies:
                gone = _taken_away(bodies[path], path, changed, told)
                bodies[path] = without(bodies[path], gone)
    return tuple(
        Interface(path=path, stub=ast.unparse(ast.Module(body, [])))
        for path, body in bodies.items()
    )


def _taken_away(
    body: Sequence[ast.stmt], path: str, changed: Collection[str], told: Collection[str]
) -> set[str]:
    names = qualified(declarations(body)) - set(told)
    return {each for each in names if exactly_meant(each, path, changed)}


def normal_changes(changes: Sequence[str]) -> frozenset[str]:
    """Return an order's `changes` without blanks and the call parentheses that some write."""
    return frozenset(each.strip().removesuffix("()") for each in changes)


def exactly_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Say whether `changed` has this qualified name: plainly, or with its module or file."""
    return not {name, f"{_module(path)}.{name}", f"{path}:{name}"}.isdisjoint(changed)


def is_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Say whether `changed` covers a qualified name: itself, its class, or its last part alone."""
    owner, last = name.split(".", 1)[0], name.rsplit(".", 1)[-1]
    return (
        exactly_meant(name, path, changed)
        or exactly_meant(owner, path, changed)
        or (last in changed)
    )


def _module(path: str) -> str:
    stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
    return stem.replace("/", ".").removeprefix("src.")
