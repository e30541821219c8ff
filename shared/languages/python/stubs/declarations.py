"""Finds the names that a module and its classes declare, with the statements that bind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal["function", "class", "variable", "import"]
BINDING_BLOCKS: Final = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)


@dataclass(slots=True)
class Declaration:
    """Represent one declared name.

    `nodes` has the statements that bind the name: several for overloads, and for a property with
    several accessors. `members` has the names that a class declares.
    """

    name: str
    kind: Kind
    line: int
    nodes: list[ast.stmt] = field(default_factory=list)
    members: dict[str, Declaration] = field(default_factory=dict)


def declarations(body: Sequence[ast.stmt]) -> dict[str, Declaration]:
    """Return the declarations that the statements of a module or class make, by name, in order.

    Statements in blocks (`if`, `try`) count too. A name that is bound as several kinds has the
    last kind.
    """
    found: dict[str, Declaration] = {}
    for statement in flat(body):
        for name, kind in bindings(statement):
            known = found.get(name)
            if known is None or known.kind != kind:
                known = found[name] = Declaration(name, kind, getattr(statement, "lineno", 0))
            known.nodes.append(statement)
            if isinstance(statement, ast.ClassDef):
                known.members |= declarations(statement.body)
    return found


def plain_declarations(body: Sequence[ast.stmt]) -> dict[str, Declaration]:
    """Return the declarations outside of blocks, which hold on every system."""
    plain = [each for each in body if next(flat([each]), None) is each]
    found = declarations(plain)
    for each in found.values():
        node = each.nodes[-1]
        if isinstance(node, ast.ClassDef):
            each.members = plain_declarations(node.body)
    return found


def qualified(declared: dict[str, Declaration]) -> frozenset[str]:
    """Return all names, and the qualified names of their members: `Game`, `Game.play`."""
    return frozenset(_qualified(declared))


def _qualified(declared: dict[str, Declaration]) -> Iterator[str]:
    for name, declaration in declared.items():
        yield name
        for member in _qualified(declaration.members):
            yield f"{name}.{member}"


def flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a scope in order, with each block replaced by its statements.

    A block that binds names itself (`for`, `with`) is yielded too, before its statements.
    """
    pending = list(reversed(body))
    while pending:
        statement = pending.pop()
        blocks = list(_blocks(statement))
        if not blocks or isinstance(statement, BINDING_BLOCKS):
            yield statement
        for block in reversed(blocks):
            pending.extend(reversed(block))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    match statement:
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While():
            yield statement.body
            yield statement.orelse
        case ast.Try() | ast.TryStar():
            yield statement.body
            for handler in statement.handlers:
                yield handler.body
            yield statement.orelse
            yield statement.finalbody
        case ast.With() | ast.AsyncWith():
            yield statement.body
        case ast.Match():
            for case in statement.cases:
                yield case.body
        case _:
            return


def bindings(statement: ast.stmt) -> Iterator[tuple[str, Kind]]:
    """Yield each name that a statement binds in its scope, without those bound in its blocks."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, "function"
        case ast.ClassDef(name=name):
            yield name, "class"
        case ast.Assign(targets=targets):
            for target in targets:
                yield from ((name, "variable") for name in target_names(target))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from ((name, "variable") for name in target_names(target))
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from ((name, "variable") for name in target_names(target))
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield from ((name, "variable") for name in target_names(item.optional_vars))
        case ast.Import(names=names):
            for alias in names:
                yield alias.asname or alias.name.split(".", 1)[0], "import"
        case ast.ImportFrom(names=names):
            yield from ((each.asname or each.name, "import") for each in names if each.name != "*")
        case _:
            # The `type` statement is new in Python 3.12, and this code also runs on 3.11.
            if type(statement).__name__ == "TypeAlias":
                yield statement.name.id, "variable"  # type: ignore[attr-defined]


def target_names(target: ast.expr) -> Iterator[str]:
    """Yield the plain names that an assignment to `target` binds."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from target_names(element)
        case ast.Starred(value=value):
            yield from target_names(value)
        case _:
            return
