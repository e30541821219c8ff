"""Annotates code with the types that its stub declares, so that a type checker checks them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from shared.languages.python.conformance.constructors import constructor_of
from shared.languages.python.conformance.plain_types import erase, type_variables
from shared.languages.python.node_names import decorator_names
from shared.languages.python.stubs.declarations import Declaration, declarations
from shared.languages.python.stubs.shadowing import after_future_imports

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_HARMLESS = frozenset({"staticmethod", "classmethod", "abstractmethod", "override"})


def annotate(
    source: ast.Module, stub: Mapping[str, Declaration], imports: Sequence[str]
) -> ast.Module:
    """Return `source` with the stub's annotations on each function that has none of its own.

    `imports` are the import statements of the stub, made absolute. An import is left out where the
    source itself binds one of its names.
    """
    had = declarations(source.body)
    variables = type_variables(stub)
    body = [_annotated(each, stub, variables) for each in source.body]
    needed = [
        statement
        for text in imports
        for statement in ast.parse(text).body
        if not had.keys() & declarations([statement]).keys()
    ]
    any_ = ast.ImportFrom("typing", [ast.alias("Any", "_Any")], 0)
    at = after_future_imports(body)
    return ast.Module([*body[:at], any_, *needed, *body[at:]], [])


def _annotated(
    statement: ast.stmt, stub: Mapping[str, Declaration], variables: frozenset[str]
) -> ast.stmt:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in stub:
            return _annotated_function(statement, stub[name], variables, skip_first=False)
        case ast.ClassDef(name=name, body=body) if name in stub:
            members = dict(stub[name].members)
            if (made_by := constructor_of(stub[name])) is not None:
                init = Declaration("__init__", "function", statement.lineno, [made_by])
                members.setdefault("__init__", init)
            new = [
                _annotated_function(each, members[each.name], variables, skip_first=True)
                if isinstance(each, _FunctionNode) and each.name in members
                else each
                for each in body
            ]
            fields = {field: getattr(statement, field) for field in statement._fields}
            return ast.copy_location(ast.ClassDef(**{**fields, "body": new}), statement)
        case _:
            return statement


def _annotated_function(
    node: _FunctionNode,
    declaration: Declaration,
    variables: frozenset[str],
    *,
    skip_first: bool,
) -> _FunctionNode:
    declared = declaration.nodes[-1]
    if (
        len(declaration.nodes) != 1
        or not isinstance(declared, _FunctionNode)
        or isinstance(declared, ast.AsyncFunctionDef) is not isinstance(node, ast.AsyncFunctionDef)
        or not decorator_names(node) <= _HARMLESS
        or _is_annotated(node.args)
        or node.returns is not None
    ):
        return node
    types = {each.arg: each.annotation for each in _parameters(declared.args)}
    new = _copy_function(node)
    # A type checker ignores the parameter names of a function that has no annotation at all.
    anything = ast.Name("_Any")
    parameters = _parameters(new.args)[skip_first and "staticmethod" not in decorator_names(node) :]
    for parameter in parameters:
        annotation = types.get(parameter.arg)
        parameter.annotation = anything if annotation is None else erase(annotation, variables)
    new.returns = anything if declared.returns is None else erase(declared.returns, variables)
    return new


def _copy_function(node: _FunctionNode) -> _FunctionNode:
    """Return a copy of a function with new parameters, without annotations, and the same body."""
    fields = {field: getattr(node, field) for field in node._fields}
    args = ast.arguments(
        posonlyargs=[ast.arg(each.arg) for each in node.args.posonlyargs],
        args=[ast.arg(each.arg) for each in node.args.args],
        vararg=ast.arg(node.args.vararg.arg) if node.args.vararg else None,
        kwonlyargs=[ast.arg(each.arg) for each in node.args.kwonlyargs],
        kw_defaults=node.args.kw_defaults,
        kwarg=ast.arg(node.args.kwarg.arg) if node.args.kwarg else None,
        defaults=node.args.defaults,
    )
    return ast.copy_location(type(node)(**{**fields, "args": args}), node)


def _parameters(args: ast.arguments) -> list[ast.arg]:
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [each for each in every if each is not None]


def _is_annotated(args: ast.arguments) -> bool:
    return any(each.annotation is not None for each in _parameters(args))
