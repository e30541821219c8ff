"""Finds the names that a command's code binds: by imports, by values, and in all other ways."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.languages.python.stubs.declarations import target_names


@dataclass(frozen=True, slots=True)
class Imported:
    """Represent what a command's name stands for: a module, or `attribute` of a module."""

    module: str
    attribute: str | None = None


def imports(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, Imported]]:
    """Yield each name that an import binds, with the module or attribute it stands for."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for each in names:
                    if each.asname:
                        yield each.asname, Imported(each.name)
                    else:
                        root = each.name.split(".", 1)[0]
                        yield root, Imported(root)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for each in names:
                    yield each.asname or each.name, Imported(module, each.name)
            case _:
                pass


def value_bindings(node: ast.AST) -> Iterator[tuple[set[str], ast.AST]]:
    """Yield the names that a node binds, with the node of the value that they come from."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield set(target_names(target)), value
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
        ):
            yield set(target_names(target)), value
        case ast.NamedExpr(target=target, value=value):
            yield set(target_names(target)), value
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield set(target_names(target)), value
        case ast.comprehension(target=target, iter=value):
            yield set(target_names(target)), value
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            yield set(target_names(target)), value
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield {name}, node
        case _:
            return


def bound_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield each name that any of the nodes binds, in any way."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
                yield "__class__"
            case ast.arg(arg=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.split(".", 1)[0]
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case _:
                other = getattr(node, "name", None)  # of a type parameter, since 3.12
                if isinstance(other, str):
                    yield other


def loads(nodes: Sequence[ast.AST]) -> Iterator[ast.Name]:
    """Yield each name that is read."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node
