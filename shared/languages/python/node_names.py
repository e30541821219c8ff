"""Reads names off a syntax tree: of decorators, of bases, and of other expressions."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def last_part(node: ast.AST) -> str:
    """Return the last part of a dotted name; "" for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def name_behind(node: ast.expr) -> str:
    """Return the last part of a dotted name, without call or subscript; "" for anything else."""
    match node:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return name_behind(inner)
        case _:
            return last_part(node)


def decorator_names(node: ast.stmt) -> frozenset[str]:
    """Return the last names of the decorators of a function or class."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return frozenset(name_behind(each) for each in decorators)


def base_names(node: ast.stmt) -> frozenset[str]:
    """Return the last names of a class's bases; nothing for any other statement."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return frozenset(map(name_behind, bases))
