"""Rewrites a project's files so that a type variable may stand for anything.

The checker infers what a type variable stands for from the first value that it sees, whereas a
`Stack` that was made from a number takes a text next. A complaint about both readings is certain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from shared.languages.python.node_names import name_behind
from shared.languages.python.views.modules import Module
from shared.languages.python.views.views import View

_MAKERS: Final = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
_READY_MADE: Final = "AnyStr"
_ANYTHING: Final = "_Anything"
_IMPORT: Final = ast.ImportFrom("typing", [ast.alias("Any", _ANYTHING)], 0)


def without_type_variables(view: View) -> Mapping[str, str]:
    """Return the text of each file that uses type variables, with `Any` in their place.

    Files are named as in `View.files`; those that use none are left out.
    """
    defined = frozenset(name for each in view.modules.values() for name in _defined(each))
    found: dict[str, str] = {}
    for module in view.modules.values():
        names = frozenset(_used(module, defined))
        if names or _has_parameters(module):
            found[module.checked_path] = _erased(module, names)
    return found


def _defined(module: Module) -> Iterator[str]:
    for name, each in module.declared.items():
        match each.nodes[-1]:
            case ast.Assign(value=ast.Call(func=maker)) if name_behind(maker) in _MAKERS:
                yield name
            case _:
                pass


def _used(module: Module, defined: frozenset[str]) -> Iterator[str]:
    """Yield the names that a module has for the type variables that it defines or imports."""
    yield from _defined(module)
    for statement in module.body or ():
        if isinstance(statement, ast.ImportFrom):
            for each in statement.names:
                if each.name in defined or each.name == _READY_MADE:
                    yield each.asname or each.name


def _has_parameters(module: Module) -> bool:
    """Say whether the module has type parameters in brackets, which Python has since 3.12."""
    return any(
        getattr(node, "type_params", ())
        for statement in module.body or ()
        for node in ast.walk(statement)
    )


def _erased(module: Module, names: frozenset[str]) -> str:
    tree = ast.parse(module.text)
    tree = _Erased(names).visit(tree)
    last_future = max(
        (
            index
            for index, each in enumerate(tree.body, 1)
            if isinstance(each, ast.ImportFrom) and each.module == "__future__"
        ),
        default=0,
    )
    tree.body.insert(last_future, _IMPORT)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Erased(ast.NodeTransformer):
    """Replace type variables by `Any`; a class is no longer generic in them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(_ANYTHING, node.ctx) if node.id in self._names else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        return node  # among these are the variables themselves

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        inner = _Erased(self._names | _parameters(node))
        bases = [_plain(each) for each in node.bases if name_behind(each) != "Generic"]
        node.bases = [inner.visit(each) for each in bases]
        node.body = [inner.visit(each) for each in node.body]
        _drop_parameters(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        inner = _Erased(self._names | _parameters(node))
        _drop_parameters(node)
        found = inner.generic_visit(node)
        assert isinstance(found, ast.FunctionDef), "a function stays one"
        return found

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        inner = _Erased(self._names | _parameters(node))
        _drop_parameters(node)
        found = inner.generic_visit(node)
        assert isinstance(found, ast.AsyncFunctionDef), "a function stays one"
        return found


def _plain(base: ast.expr) -> ast.expr:
    """Return a base class without its parameters where it is a protocol."""
    is_protocol = isinstance(base, ast.Subscript) and name_behind(base) == "Protocol"
    return base.value if is_protocol and isinstance(base, ast.Subscript) else base


def _parameters(node: ast.AST) -> frozenset[str]:
    return frozenset(each.name for each in getattr(node, "type_params", ()))


def _drop_parameters(node: ast.AST) -> None:
    if hasattr(node, "type_params"):
        node.type_params = []
