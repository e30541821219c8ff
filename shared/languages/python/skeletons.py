"""Builds code that keeps its interfaces and does nothing.

Its functions return `0`, `""`, `[]`, `{}` and the like. Its classes can be instantiated, and their
attributes are just as empty. A command that passes on such code proves nothing: it would pass on
any code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.python.conformance_probe import constructor_of
from shared.languages.python.merge_stubs import copied, merge, merge_stubs
from shared.languages.python.module_views import Source, unparsed
from shared.languages.python.python_code import base_names, decorator_names, last_part, name_behind
from shared.languages.python.signatures import quoted_type
from shared.languages.python.stubs import BoundName, FunctionNode, declarations

if TYPE_CHECKING:
    from shared.work_order.work_order import Interface

_VALUES: Final = {
    "int": "0", "float": "0.0", "bool": "False", "complex": "0j", "str": "''", "bytes": "b''",
    "bytearray": "bytearray()", "list": "[]", "List": "[]", "Sequence": "[]", "Iterable": "[]",
    "Collection": "[]", "Container": "[]", "MutableSequence": "[]", "Reversible": "[]",
    "dict": "{}", "Dict": "{}", "Mapping": "{}", "MutableMapping": "{}", "set": "set()",
    "Set": "set()", "AbstractSet": "set()", "MutableSet": "set()", "frozenset": "frozenset()",
    "FrozenSet": "frozenset()", "Iterator": "iter(())", "Generator": "iter(())", "tuple": "()",
    "Tuple": "()", "range": "range(0)", "object": "0",
}  # fmt: skip
_QUALIFIERS: Final = frozenset({"Final", "ClassVar", "Annotated", "Required", "NotRequired"})
_ENUMS: Final = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
_MAX_DEPTH: Final = 4


class EmptyPythonValues:
    """Build the emptiest values of built-in types and of classes that given modules declare."""

    def __init__(self, modules: Iterable[Sequence[ast.stmt]]) -> None:
        self._classes: dict[str, BoundName] = {}
        for body in modules:
            for name, each in declarations(body).items():
                if each.kind == "class":
                    self._classes.setdefault(name, each)

    def of(self, annotation: ast.expr | None, depth: int = 0) -> ast.expr:
        """Return an expression for the emptiest value of a type; `None` for an unknown type."""
        if annotation is None or depth > _MAX_DEPTH:
            return ast.Constant(None)
        match annotation:
            case ast.Constant(value=str(text)):
                return self.of(quoted_type(text), depth + 1)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return self._first([left, right], depth)
            case ast.Subscript(value=value, slice=inner):
                return self._of_generic(last_part(value), inner, depth)
            case ast.Name() | ast.Attribute():
                return self._of_name(last_part(annotation), depth)
            case _:
                return ast.Constant(None)

    def element_of(self, annotation: ast.expr | None) -> ast.expr:
        if not isinstance(annotation, ast.Subscript):
            return ast.Constant(None)
        inner = annotation.slice
        return self.of(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)

    def _of_generic(self, name: str, inner: ast.expr, depth: int) -> ast.expr:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name in _QUALIFIERS:
            return self.of(parts[0], depth + 1)
        if name == "Literal":
            return parts[0]
        if name == "Optional":
            return ast.Constant(None)
        if name == "Union":
            return self._first(parts, depth)
        is_fixed = name in {"tuple", "Tuple"} and not any(is_ellipsis(each) for each in parts)
        if is_fixed:
            return ast.Tuple([self.of(each, depth + 1) for each in parts], ast.Load())
        return self._of_name(name, depth)

    def _first(self, members: Sequence[ast.expr], depth: int) -> ast.expr:
        """Return `None` if a member of the union is `None`, else the first member's value."""
        if any(isinstance(each, ast.Constant) and each.value is None for each in members):
            return ast.Constant(None)
        return self.of(members[0], depth + 1)

    def _of_name(self, name: str, depth: int) -> ast.expr:
        if name in self._classes:
            return self._instance(name, self._classes[name], depth)
        return ast.parse(_VALUES.get(name, "None"), mode="eval").body

    def _instance(self, name: str, declaration: BoundName, depth: int) -> ast.expr:
        node = declaration.nodes[-1]
        bases = base_names(node) if isinstance(node, ast.ClassDef) else frozenset[str]()
        if bases & _ENUMS:
            return ast.parse(f"next(iter({name}))", mode="eval").body
        if "TypedDict" in bases or "Protocol" in bases:
            return ast.parse("{}" if "TypedDict" in bases else "None", mode="eval").body
        fields = constructor_of(declaration) if "__init__" not in declaration.members else None
        if fields is not None:
            given = fields.args.args[1:]
            values = [self.of(each.annotation, depth + 1) for each in given]
            return ast.Call(ast.Name(name), values, [])
        return ast.parse(f"{name}.__new__({name})", mode="eval").body


def is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


# These decorators work on a function or class that does nothing. Others are left out.
_KEPT: Final = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "setter", "deleter", "dataclass",
     "contextmanager", "asynccontextmanager", "lru_cache", "cache", "total_ordering", "unique",
     "runtime_checkable", "final", "override", "wraps"}
)  # fmt: skip


def build_skeleton(
    interfaces: Sequence[Interface], sources: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the text of each declared file, as code that runs and does nothing.

    Later declarations of a file are merged over earlier ones. Where `sources` already has the file,
    only the declared names are emptied. Stubs that do not parse are left out.
    """
    bodies = merge_stubs(each for each in interfaces if each.path.endswith(".py"))
    values = EmptyPythonValues(bodies.values())
    return {path: _module(body, (sources or {}).get(path), values) for path, body in bodies.items()}


def _module(body: Sequence[ast.stmt], source: str | None, values: EmptyPythonValues) -> str:
    empty = [_emptied(each, values) for each in _without_overloads(body)]
    tree = Source(source).parsed if source is not None else None
    whole = merge(tree.body, empty) if isinstance(tree, ast.Module) else empty
    return unparsed(_with_late_imports(whole))


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
    last = {each.name: each for each in body if isinstance(each, FunctionNode)}
    return [
        each
        for each in body
        if not (isinstance(each, FunctionNode) and "overload" in decorator_names(each))
        or last[each.name] is each
    ]


def _emptied(statement: ast.stmt, values: EmptyPythonValues) -> ast.stmt:
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


def _empty_function(node: FunctionNode, values: EmptyPythonValues) -> FunctionNode:
    names = decorator_names(node)
    result = values.of(node.returns)
    statement: ast.stmt = ast.Return(result)
    if names & {"contextmanager", "asynccontextmanager"}:
        statement = ast.Expr(ast.Yield(values.element_of(node.returns)))
    if node.name in {"__init__", "__post_init__"}:
        statement = ast.Pass()
    kept = [each for each in node.decorator_list if name_behind(each) in _KEPT]
    args = copied(
        node.args,
        kw_defaults=[_default(each) for each in node.args.kw_defaults],
        defaults=[_default(each) for each in node.args.defaults],
    )
    return type(node)(node.name, args, [statement], kept, node.returns, None)


def _default(node: ast.expr | None) -> ast.expr | None:
    return ast.Constant(None) if node is not None and is_ellipsis(node) else node


def _empty_class(node: ast.ClassDef, values: EmptyPythonValues) -> ast.ClassDef:
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
    return copied(node, body=body or [ast.Pass()], decorator_list=kept)


def _field(statement: ast.AnnAssign, values: EmptyPythonValues) -> ast.AnnAssign:
    """Return a field with an empty default in place of `...`.

    The default is `None` if the empty value is mutable, which a dataclass would refuse.
    """
    if statement.value is None or not is_ellipsis(statement.value):
        return statement
    empty = values.of(statement.annotation)
    default = empty if isinstance(empty, ast.Constant | ast.Tuple) else ast.Constant(None)
    return ast.AnnAssign(statement.target, statement.annotation, default, statement.simple)


def _member(statement: ast.stmt, number: int, *, is_text: bool) -> ast.stmt:
    """Return a member of an enumeration; a member without a written value gets one of its own."""
    match statement:
        case (
            ast.AnnAssign(target=ast.Name() as target) | ast.Assign(targets=[ast.Name() as target])
        ):
            given = statement.value
            if given is None or is_ellipsis(given):
                given = ast.Constant(target.id.lower() if is_text else number)
            return ast.Assign([target], given)
        case _:
            return statement
