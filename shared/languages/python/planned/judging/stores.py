"""Finds the names to which a command gives values of another type than the checker assumes.

Python lets a name, a list or a dict hold anything, whatever it held before. Where the checker
objects to such a store, its later complaints about the same name are about values that the name
does not have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from shared.languages.python.checker.complaints import (
    Complaint,
    NoVariant,
    WrongArgument,
    WrongElement,
    WrongIndex,
    WrongReturn,
    WrongStore,
)
from shared.languages.python.planned.judging.certainty import DATA_ATTRIBUTES
from shared.languages.python.planned.judging.spots import Spot
from shared.languages.python.stubs.type_text import CONTAINERS, TypeText

_ABSTRACT: Final = frozenset({"MutableMapping", "MutableSequence", "MutableSet"})
_STANDARD: Final = frozenset({"deque", "Counter", "OrderedDict", "defaultdict"})


def stored_names(complaints: Iterable[tuple[Complaint, Spot]]) -> frozenset[str]:
    """Return the root name of each place to which a command stores a value of a wrong type."""
    return frozenset(name for each in complaints for name in _stored(*each))


def _stored(complaint: Complaint, spot: Spot) -> Iterator[str]:
    match complaint:
        case WrongStore():
            yield from _bound_around(spot)
        case WrongReturn():
            yield from _function_around(spot)
        case WrongElement() | WrongArgument() | NoVariant() | WrongIndex():
            if isinstance(spot.statement, ast.AnnAssign):
                yield from _bound_around(spot)
            elif _is_in_call(spot):
                yield from _filled(complaint, spot)
            else:
                yield from _bound_around(spot)
        case _:
            return


def _bound_around(spot: Spot) -> Iterator[str]:
    """Yield the names that the statement around a place stores to."""
    match spot.statement:
        case ast.Assign(targets=targets):
            for each in targets:
                yield from _roots(each)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from _roots(target)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _roots(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield from _roots(item.optional_vars)
        case _:
            pass
    for node in spot.near:
        if isinstance(node, ast.NamedExpr):
            yield node.target.id


def _roots(target: ast.expr) -> Iterator[str]:
    """Yield the names that a store to `target` changes; a store to an attribute changes none."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=inner):
            yield from _root(inner)
        case ast.Starred(value=inner):
            yield from _roots(inner)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for each in elements:
                yield from _roots(each)
        case _:
            return


def _root(value: ast.expr) -> Iterator[str]:
    """Yield the name that a chain of attributes, items and calls begins with."""
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=inner):
            yield from _root(inner)
        case _:
            return


def _function_around(spot: Spot) -> Iterator[str]:
    for each in spot.around:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.name
            return


def _is_in_call(spot: Spot) -> bool:
    return spot.call_with_argument is not None or isinstance(spot.node, ast.Call)


def _is_container(owner: TypeText | None) -> bool:
    return owner is not None and owner.head in CONTAINERS | _ABSTRACT | _STANDARD


def _filled(complaint: Complaint, spot: Spot) -> Iterator[str]:
    """Yield the name of the list, set or dict that a built-in method puts a value into."""
    match complaint:
        case WrongArgument(callee=callee) if callee is not None and not _is_container(callee.owner):
            return
        case NoVariant(callee=callee) if not _is_container(callee.owner):
            return
        case _:
            pass
    is_call = isinstance(complaint, NoVariant) and isinstance(spot.node, ast.Call)
    match spot.node if is_call else spot.call_with_argument:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in DATA_ATTRIBUTES:
            yield from _root(value)
        case _:
            return
