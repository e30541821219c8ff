"""Renames types whose names are hidden by another name, as by a method called `list`.

In `class Store: def list(self) -> list[str]` a person means the built-in type, and so does Python
where annotations are not evaluated. A type checker takes the method for the type and then knows
nothing about the result. Such types therefore get a name of their own.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from shared.languages.python.stubs.declarations import Declaration, declarations
from shared.languages.python.stubs.signatures import quoted_type

_PREFIX: Final = "_Outer_"
_TYPES: Final = frozenset(
    name for name in dir(builtins) if isinstance(getattr(builtins, name), type)
)


def with_outer_types(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return a module's statements with hidden types renamed, so that nothing hides a type.

    The argument is not changed. Where no type is hidden, its own statements are returned.
    """
    declared = declarations(body)
    here = {name for name, each in declared.items() if _hides(each) and not _is_alias(each)}
    outer = _TYPES | {name for name in declared if name not in here}
    if not (here & _TYPES or any(_hides_inside(each, outer) for each in declared.values())):
        return list(body)
    renaming = _Renaming(here & _TYPES, outer)
    renamed = [renaming.visit(copy.deepcopy(each)) for each in body]
    if not renaming.used:
        return list(body)
    at = after_future_imports(body)
    made = [_alias(name, declared) for name in sorted(renaming.used)]
    imports = [each for each in made if isinstance(each, ast.ImportFrom)]
    aliases = [each for each in made if not isinstance(each, ast.ImportFrom)]
    return [*renamed[:at], *imports, *renamed[at:], *aliases]


def _hides(declaration: Declaration) -> bool:
    return declaration.kind in {"function", "variable"}


def _hides_inside(declaration: Declaration, outer: Collection[str]) -> bool:
    """Return whether a member of a class, or of a class in it, has the name of an outer type."""
    return any(
        (name in outer and _hides(each)) or _hides_inside(each, outer)
        for name, each in declaration.members.items()
    )


def _is_alias(declaration: Declaration) -> bool:
    """Return whether a variable may itself be a type: `Rows = list[str]`."""
    match declaration.nodes[-1]:
        case ast.Assign():
            return True
        case ast.AnnAssign(annotation=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == "TypeAlias"
        case _:
            return False


def _alias(name: str, declared: Collection[str]) -> ast.stmt:
    if name in declared and name not in _TYPES:
        return ast.Assign([ast.Name(_PREFIX + name, ast.Store())], ast.Name(name), lineno=0)
    return ast.ImportFrom("builtins", [ast.alias(name, _PREFIX + name)], 0)


def after_future_imports(body: Sequence[ast.stmt]) -> int:
    """Return the index behind the last `from __future__` import, and 0 where there is none."""
    ends = [
        index
        for index, each in enumerate(body, 1)
        if isinstance(each, ast.ImportFrom) and each.module == "__future__"
    ]
    return ends[-1] if ends else 0


class _Renaming(ast.NodeTransformer):
    """Rename hidden types in the annotations of a module, and collect their names in `used`."""

    def __init__(self, hidden: Collection[str], outer: Collection[str]) -> None:
        self._hidden = frozenset(hidden)
        self._outer = frozenset(outer)
        self.used: set[str] = set()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        members = {name for name, each in declarations(node.body).items() if _hides(each)}
        before = self._hidden
        self._hidden = before | (members & self._outer)
        node.body = [self.visit(each) for each in node.body]
        self._hidden = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self._function(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        self._function(node)
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for each in _parameters(node.args):
            each.annotation = self._type(each.annotation)
        node.returns = self._type(node.returns)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.annotation = self._type(node.annotation) or node.annotation
        return node

    def _type(self, annotation: ast.expr | None) -> ast.expr | None:
        if annotation is None or not self._hidden:
            return annotation
        named = _Named(self._hidden)
        found: ast.expr = named.visit(annotation)
        self.used |= named.used
        return found


class _Named(ast.NodeTransformer):
    """Rename hidden types in one annotation, except in `Literal`, which lists values."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden
        self.used: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id not in self._hidden:
            return node
        self.used.add(node.id)
        return ast.Name(_PREFIX + node.id, node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        inner = quoted_type(node.value) if isinstance(node.value, str) else None
        if inner is None:
            return node
        found: ast.expr = self.visit(inner)
        return found if self.used else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name | ast.Attribute) and _is_literal(node.value):
            return node
        self.generic_visit(node)
        return node


def _is_literal(node: ast.Name | ast.Attribute) -> bool:
    return (node.id if isinstance(node, ast.Name) else node.attr) == "Literal"


def _parameters(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    yield from (each for each in (args.vararg, args.kwarg) if each is not None)
