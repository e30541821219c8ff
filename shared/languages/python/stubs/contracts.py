"""Works out which contracts hold after a chain of orders."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from shared.languages.python.stubs.declarations import declarations, qualified
from shared.languages.python.stubs.merge import merge, without
from shared.languages.python.stubs.stubs import Stub, parse_stub
from shared.work_order.schemas import Interface, WorkOrder


def contracts_in_force(orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return one stub for each file, with the declarations that hold after the last of `orders`.

    Later declarations are merged over earlier ones. A name in an order's `changes` that the order
    does not declare is removed from the files that the order may write. Stubs that do not parse
    declare nothing.
    """
    bodies: dict[str, list[ast.stmt]] = {}
    for order in orders:
        declared: set[str] = set()
        for each in order.interfaces:
            stub = parse_stub(each.stub)
            if isinstance(stub, Stub):
                bodies[each.path] = merge(bodies.get(each.path, ()), stub.tree.body)
                declared |= qualified(declarations(stub.tree.body))
        changed = normal_changes(order.changes)
        for path in order.allowed_files:
            if changed and path in bodies:
                gone = _removed_names(bodies[path], path, changed, declared)
                bodies[path] = without(bodies[path], gone)
    return tuple(
        Interface(path=path, stub=ast.unparse(ast.Module(body, [])))
        for path, body in bodies.items()
    )


def _removed_names(
    body: Sequence[ast.stmt], path: str, changed: Collection[str], declared: Collection[str]
) -> set[str]:
    names = qualified(declarations(body)) - set(declared)
    return {each for each in names if exactly_meant(each, path, changed)}


def normal_changes(changes: Sequence[str]) -> frozenset[str]:
    """Return an order's `changes` without surrounding blanks and without a final `()`."""
    return frozenset(each.strip().removesuffix("()") for each in changes)


def exactly_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Return whether `changed` has this qualified name, alone or with its module or file."""
    return not {name, f"{_module(path)}.{name}", f"{path}:{name}"}.isdisjoint(changed)


def is_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Return whether `changed` has a qualified name, its class, or its last part alone."""
    owner, last = name.split(".", 1)[0], name.rsplit(".", 1)[-1]
    return (
        exactly_meant(name, path, changed)
        or exactly_meant(owner, path, changed)
        or (last in changed)
    )


def _module(path: str) -> str:
    stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
    return stem.replace("/", ".").removeprefix("src.")
