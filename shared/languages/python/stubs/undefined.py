"""Finds names that a stub uses and nothing defines."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.languages.python.node_names import last_part
from shared.languages.python.stubs.declarations import declarations
from shared.languages.python.stubs.signatures import quoted_type

_BUILTINS: Final = frozenset(dir(builtins)) | {"__file__", "__name__", "__path__", "__all__"}
_Scoped = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class UndefinedName:
    """Represent a name that nothing defines where it is used; `line` counts from 1 in the stub."""

    name: str
    line: int


def undefined_names(stub: Sequence[ast.stmt], known: frozenset[str]) -> tuple[UndefinedName, ...]:
    """Return each undefined name that the stub uses in a type, base class or decorator.

    `known` are names that the module has from elsewhere: its source or earlier stubs. The result is
    empty where the stub has a star import, which may bring in any name.
    """
    if any(_is_star(node) for each in stub for node in ast.walk(each)):
        return ()
    scope = _BUILTINS | known | declarations(stub).keys()
    first: dict[str, UndefinedName] = {}
    for used in _used(stub, scope):
        first.setdefault(used.name, used)
    return tuple(first.values())


def _is_star(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names)


def _used(body: Sequence[ast.stmt], scope: frozenset[str]) -> Iterator[UndefinedName]:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = scope | _type_parameters(statement)
                args = statement.args
                every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
                types = [each.annotation for each in every if each] + [statement.returns]
                # Bodies and defaults are not part of the contract.
                for part in (*statement.decorator_list, *types):
                    yield from _names_in(part, inner)
            case ast.ClassDef():
                inner = scope | _type_parameters(statement)
                for part in (*statement.decorator_list, *statement.bases):
                    yield from _names_in(part, inner)
                members = frozenset(declarations(statement.body))
                yield from _used(statement.body, inner | members)
            case ast.AnnAssign(annotation=annotation):
                yield from _names_in(annotation, scope)
            case ast.If() | ast.Try():
                blocks = [statement.body, statement.orelse]
                for block in blocks:
                    yield from _used(block, scope)
            case _:
                continue


def _type_parameters(node: _Scoped) -> frozenset[str]:
    """Return the names in a type parameter list `[T, *Ts]`, which Python has since 3.12."""
    return frozenset(each.name for each in getattr(node, "type_params", ()))


def _names_in(node: ast.expr | None, scope: frozenset[str]) -> Iterator[UndefinedName]:
    if node is None:
        return
    match node:
        case ast.Name(id=name):
            if name not in scope:
                yield UndefinedName(name, node.lineno)
        case ast.Constant(value=str(text)):
            inner = quoted_type(text)
            for found in _names_in(inner, scope):
                yield UndefinedName(found.name, node.lineno)
        case ast.Subscript(value=value, slice=inner):
            yield from _names_in(value, scope)
            # `Literal` lists values, and `Annotated` may hold any text after the type.
            if last_part(value) == "Annotated" and isinstance(inner, ast.Tuple):
                yield from _names_in(inner.elts[0], scope)
            elif last_part(value) != "Literal":
                yield from _names_in(inner, scope)
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case ast.Call(func=function, args=args):
            yield from _names_in(function, scope)
            for each in args:
                if not isinstance(each, ast.Constant):
                    yield from _names_in(each, scope)
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from _names_in(child, scope)
