"""Writes declared types so that they are valid anywhere."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Final

from shared.languages.python.node_names import name_behind
from shared.languages.python.stubs.declarations import Declaration
from shared.languages.python.stubs.signatures import quoted_type

_TYPE_VARIABLES: Final = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
_QUALIFIERS: Final = frozenset({"Final", "ClassVar", "Required", "NotRequired", "ReadOnly"})


def erase(annotation: ast.expr, variables: Collection[str] = ()) -> ast.expr:
    """Return a type that is valid anywhere: without qualifiers, quotes and type variables."""
    erased: object = _Erased(variables).visit(_deep_copy(annotation))
    assert isinstance(erased, ast.expr), "expressions are replaced by expressions"
    return erased


class _Erased(ast.NodeTransformer):
    """Replace type variables, and names that have a meaning only inside a class, by `Any`."""

    def __init__(self, variables: Collection[str]) -> None:
        self._variables = variables

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name("Any") if node.id in {*self._variables, "Self", "AnyStr"} else node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        inner = quoted_type(node.value) if isinstance(node.value, str) else None
        return node if inner is None else self._erased(_deep_copy(inner))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name, inner = name_behind(node.value), node.slice
        if name == "Literal":
            return node  # a `Literal` lists values
        if name == "Annotated" and isinstance(inner, ast.Tuple):
            return self._erased(inner.elts[0])
        if name in _QUALIFIERS:
            return self._erased(inner)
        self.generic_visit(node)
        return node

    def _erased(self, node: ast.expr) -> ast.expr:
        found: ast.expr = self.visit(node)
        return found


def _deep_copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def declared_type(node: ast.stmt) -> ast.expr | None:
    """Return the declared type of a variable, without qualifiers; `None` for none."""
    found = node.annotation if isinstance(node, ast.AnnAssign) else None
    while found is not None and name_behind(found) in _QUALIFIERS:
        found = found.slice if isinstance(found, ast.Subscript) else None
    return found


def type_variables(stub: Mapping[str, Declaration]) -> frozenset[str]:
    """Return the type variables that a stub defines."""
    return frozenset(
        name
        for name, each in stub.items()
        if isinstance(node := each.nodes[-1], ast.Assign)
        and isinstance(node.value, ast.Call)
        and name_behind(node.value.func) in _TYPE_VARIABLES
    )
