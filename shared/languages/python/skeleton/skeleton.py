"""Builds code that keeps its interfaces and does nothing.

Its functions return `0`, `""`, `[]`, `{}` and the like. Its classes can be instantiated, and their
attributes are just as empty. A command that passes on such code proves nothing: it would pass on
any code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.python.node_names import base_names, decorator_names, name_behind
from shared.languages.python.skeleton.empty_values import EmptyValues, is_ellipsis
from shared.languages.python.stubs.declarations import declarations
from shared.languages.python.stubs.merge import merge, merge_stubs
from shared.languages.python.views.sources import Source
from shared.work_order.schemas import Interface

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# These decorators work on a function or class that does nothing. Others are left out.
_KEPT: Final = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "setter", "deleter", "dataclass",
     "contextmanager", "asynccontextmanager", "lru_cache", "cache", "total_ordering", "unique",
     "runtime_checkable", "final", "override", "wraps"}
)  # fmt: skip
_ENUMS: Final = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


def build_skeleton(
    interfaces: Sequence[Interface], sources: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the text of each declared file, as code that runs and does nothing.

    Later declarations of a file are merged over earlier ones. Where `sources` already has the file,
    only the declared names are emptied. Stubs that do not parse are left out.
    """
    bodies = merge_stubs(each for each in interfaces if each.path.endswith(".py"))
    values = EmptyValues(bodies.values())
    return {path: _module(body, (sources or {}).get(path), values) for path, body in bodies.items()}


def _module(body: Sequence[ast.stmt], source: str | None, values: EmptyValues) -> str:
    empty = [_emptied(each, values) for each in _without_overloads(body)]
    tree = Source(source).parsed if source is not None else None
    if isinstance(tree, CodeProblem) or tree is None:
        statements = _with_late_imports(empty)
    else:
        statements = _with_late_imports(merge(tree.body, empty))
    return ast.unparse(ast.fix_missing_locations(ast.Module(statements, []))) + "\n"


def _with_late_imports(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return `body` with the imports that only functions need at its end.

    Modules may so import each other.
    """
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    first: list[ast.stmt] = []
    last: list[ast.stmt] = []
    needed = {
        name.id
        for statement in body
        for part in _evaluated(statement)
        for name in ast.walk(part)
        if isinstance(name, ast.Name)
    }
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            continue
        is_own = isinstance(statement, ast.ImportFrom) and statement.level > 0
        late = is_own and needed.isdisjoint(declarations([statement]))
        (last if late else first).append(statement)
    return [future, *first, *last]


def _evaluated(statement: ast.stmt) -> list[ast.expr]:
    """Return the expressions of a statement that are evaluated when the module is imported."""
    match statement:
        case ast.ClassDef(bases=bases, decorator_list=decorators, body=body):
            return [*bases, *decorators, *(part for each in body for part in _evaluated(each))]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [each for each in statement.args.kw_defaults if each is not None]
            return [*statement.decorator_list, *statement.args.defaults, *defaults]
        case ast.AnnAssign(value=ast.expr() as value) | ast.Assign(value=value):
            return [value]
        case _:
            return []


def _without_overloads(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return `body` without overloads, except where one is the last definition of its name."""
    last = {each.name: each for each in body if isinstance(each, _FunctionNode)}
    return [
        each
        for each in body
        if not (isinstance(each, _FunctionNode) and "overload" in decorator_names(each))
        or last[each.name] is each
    ]


def _emptied(statement: ast.stmt, values: EmptyValues) -> ast.stmt:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _empty_function(statement, values)
        case ast.ClassDef():
            return _empty_class(statement, values)
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            if value is None or is_ellipsis(value):
                value = values.of(annotation)
            return ast.AnnAssign(target, annotation, value, statement.simple)
        case _:
            return statement


def _empty_function(node: _FunctionNode, values: EmptyValues) -> _FunctionNode:
    names = decorator_names(node)
    result = values.of(node.returns)
    statement: ast.stmt = ast.Return(result)
    if names & {"contextmanager", "asynccontextmanager"}:
        statement = ast.Expr(ast.Yield(values.element_of(node.returns)))
    if node.name in {"__init__", "__post_init__"}:
        statement = ast.Pass()
    kept = [each for each in node.decorator_list if name_behind(each) in _KEPT]
    args = ast.arguments(
        posonlyargs=node.args.posonlyargs,
        args=node.args.args,
        vararg=node.args.vararg,
        kwonlyargs=node.args.kwonlyargs,
        kw_defaults=[_default(each) for each in node.args.kw_defaults],
        kwarg=node.args.kwarg,
        defaults=[each for each in map(_default, node.args.defaults) if each is not None],
    )
    return type(node)(node.name, args, [statement], kept, node.returns, None)


def _default(node: ast.expr | None) -> ast.expr | None:
    return ast.Constant(None) if node is not None and is_ellipsis(node) else node


def _empty_class(node: ast.ClassDef, values: EmptyValues) -> ast.ClassDef:
    bases = base_names(node)
    has_fields = bool(bases & {"TypedDict", "NamedTuple"}) or "dataclass" in decorator_names(node)
    body: list[ast.stmt] = []
    for number, each in enumerate(_without_overloads(node.body), 1):
        if bases & _ENUMS:
            body.append(_member(each, number, is_text="StrEnum" in bases))
        elif has_fields and isinstance(each, ast.AnnAssign):
            body.append(_field(each, values))
        else:
            body.append(_emptied(each, values))
    kept = [each for each in node.decorator_list if name_behind(each) in _KEPT]
    fields = {field: getattr(node, field) for field in node._fields}
    return ast.ClassDef(**{**fields, "body": body or [ast.Pass()], "decorator_list": kept})


def _field(statement: ast.AnnAssign, values: EmptyValues) -> ast.AnnAssign:
    """Return a field with an empty default in place of `...`.

    The default is `None` where the empty value is mutable, which a dataclass would refuse.
    """
    if statement.value is None or not is_ellipsis(statement.value):
        return statement
    empty = values.of(statement.annotation)
    default = empty if isinstance(empty, ast.Constant | ast.Tuple) else ast.Constant(None)
    return ast.AnnAssign(statement.target, statement.annotation, default, statement.simple)


def _member(statement: ast.stmt, number: int, *, is_text: bool) -> ast.stmt:
    """Return a member of an enumeration; a member without a written value gets one of its own."""
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name) as target, value=value):
            given = value
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
            given = value
        case _:
            return statement
    if given is None or is_ellipsis(given):
        given = ast.Constant(name.lower() if is_text else number)
    return ast.Assign([target], given)
