"""Writes code that uses an implementation as its stub declares it.

For each function, method and constructor the module has a callback protocol made from the stub,
and assigns the implementation to it. For each variable and attribute it has an assignment to the
declared type. Where the checker objects, the implementation does not keep to the stub. The module
is never run.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from shared.languages.python.merge_stubs import after_future_imports, copied
from shared.languages.python.python_code import base_names, decorator_names, name_behind
from shared.languages.python.signatures import declared_type, quoted_type
from shared.languages.python.stubs import BoundName, FunctionNode, declarations, parameters_of

# A class with one of these bases is not called, or its body does not say how to call it.
_SPECIAL_BASES: Final = frozenset(
    {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "Protocol", "TypedDict", "ABC"}
)


def constructor_of(declaration: BoundName) -> ast.FunctionDef | None:
    """Return the signature of a class's constructor, as a method; `None` if it is unknown."""
    node = declaration.nodes[-1]
    if not isinstance(node, ast.ClassDef) or base_names(node) & _SPECIAL_BASES:
        return None
    init = declaration.members.get("__init__")
    if init is not None and len(init.nodes) == 1 and isinstance(init.nodes[0], ast.FunctionDef):
        args = init.nodes[0].args
    elif _made_of_fields(node):
        args = _fields(node)
    else:
        return None
    return ast.FunctionDef("__init__", args, [], [], ast.Name(node.name), None)


def is_abstract(declaration: BoundName) -> bool:
    return any(
        "abstractmethod" in decorator_names(node)
        for member in declaration.members.values()
        for node in member.nodes
    )


def _made_of_fields(node: ast.ClassDef) -> bool:
    """Return whether the constructor of a class takes the class's own fields in order."""
    if "NamedTuple" in base_names(node):
        return base_names(node) == {"NamedTuple"}
    plain = [each for each in node.decorator_list if name_behind(each) == "dataclass"]
    options = {
        option.arg for each in plain if isinstance(each, ast.Call) for option in each.keywords
    }
    special = any(isinstance(each.value, ast.Call) for each in node.body if _is_field(each))  # type: ignore[attr-defined]
    return (
        bool(plain) and not base_names(node) and not options & {"init", "kw_only"} and not special
    )


def _fields(node: ast.ClassDef) -> ast.arguments:
    fields = [each for each in node.body if _is_field(each)]
    given = [ast.arg("self"), *(ast.arg(each.target.id, each.annotation) for each in fields)]  # type: ignore[attr-defined]
    defaults = [each.value for each in fields if each.value is not None]  # type: ignore[attr-defined]
    return ast.arguments([], given, None, [], [], None, defaults)


def _is_field(node: ast.stmt) -> bool:
    if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
        return False
    return name_behind(node.annotation) != "ClassVar"


_TYPE_VARIABLES: Final = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
_QUALIFIERS: Final = frozenset({"Final", "ClassVar", "Required", "NotRequired", "ReadOnly"})


def erase(annotation: ast.expr, variables: Collection[str] = ()) -> ast.expr:
    """Return a type that is valid anywhere: without qualifiers, quotes and type variables."""
    erased: object = _ProbeErasure(variables).visit(_deep_copy(annotation))
    assert isinstance(erased, ast.expr), "expressions are replaced by expressions"
    return erased


class _ProbeErasure(ast.NodeTransformer):
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


def _mentions_managers(imports: Sequence[str]) -> bool:
    return any("contextlib" in each for each in imports)


def type_variables(stub: Mapping[str, BoundName]) -> frozenset[str]:
    return frozenset(
        name
        for name, each in stub.items()
        if isinstance(node := each.nodes[-1], ast.Assign)
        and isinstance(node.value, ast.Call)
        and name_behind(node.value.func) in _TYPE_VARIABLES
    )


Kind = Literal["shape", "types", "value", "attribute", "base"]

_TRANSPARENT: Final = frozenset(
    {"staticmethod", "classmethod", "abstractmethod", "override", "final", "overload", "cache",
     "lru_cache", "property", "cached_property"}
)  # fmt: skip
# What a function with such a decorator returns. The type of what it gives is not compared.
_MANAGERS: Final = {
    "contextmanager": "_contextlib.AbstractContextManager[Any]",
    "asynccontextmanager": "_contextlib.AbstractAsyncContextManager[Any]",
}
# Bases that are no types of values, or that any class has.
_NO_VALUES: Final = frozenset({"Generic", "Protocol", "TypedDict", "NamedTuple", "ABC", "object"})


@dataclass(frozen=True, slots=True)
class ConformanceProbe:
    """Represent one use of a declared name.

    A probe of the kind `shape` checks only the number and the names of the parameters, and `base`
    that a class has a base.
    """

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ProbeModule:
    """Hold the text of a probe module, and its probes by line number, from 1."""

    text: str
    probes: Mapping[int, ConformanceProbe]


class ProbeBuilder:
    """Build the probe of the module with the dotted name `module`.

    `stub` has the module's declarations, `imports` the import statements of the stub, made
    absolute, and `present` the names that the implementation has.
    """

    def __init__(
        self,
        module: str,
        stub: Mapping[str, BoundName],
        imports: Sequence[str],
        present: Collection[str],
    ) -> None:
        self._stub = {name: each for name, each in stub.items() if name in present}
        self._variables = type_variables(stub)
        self._has_managers = _mentions_managers(imports)
        self._lines = [
            "from __future__ import annotations",
            "from typing import Any, Protocol, overload",
            *imports,
            *(["import contextlib as _contextlib"] if _mentions_managers(imports) else ()),
            f"import {module} as _m",
        ]
        types = sorted(name for name in self._stub if name not in self._variables)
        if types:
            self._lines.append(f"from {module} import {', '.join(types)}")
        self._probes: dict[int, ConformanceProbe] = {}
        self._count = 0

    def build(self) -> ProbeModule:
        for name, declaration in self._stub.items():
            match declaration.kind:
                case "function":
                    self._function(name, declaration, f"_m.{name}", skip_first=False)
                case "class":
                    self._class(name, declaration)
                case "variable" if name not in self._variables:
                    self._value(name, declaration.nodes[-1])
                case _:
                    pass
        return ProbeModule("\n".join(self._lines) + "\n", self._probes)

    def _class(self, name: str, declaration: BoundName) -> None:
        self._constructor(name, declaration)
        self._bases(name, declaration.nodes[-1])
        for member, each in declaration.members.items():
            qualified = f"{name}.{member}"
            if member in {"__init__", "__new__"} or (each.kind == "import"):
                continue
            node = each.nodes[-1]
            if each.kind == "function" and isinstance(node, FunctionNode):
                self._method(name, member, each, node)
            elif each.kind == "variable":
                self._on_instance(name, qualified, member, node)

    def _bases(self, name: str, node: ast.stmt) -> None:
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            if name_behind(base) not in _NO_VALUES:
                self._count += 1
                text = ast.unparse(self._type(base))
                self._assign(ConformanceProbe(name, "base"), text, "_x", f"_m.{name}")

    def _method(self, owner: str, member: str, declaration: BoundName, node: FunctionNode) -> None:
        qualified, decorators = f"{owner}.{member}", decorator_names(node)
        if decorators & {"property", "cached_property", "setter"}:
            self._on_instance(owner, qualified, member, declaration.nodes[0])
        elif decorators & {"staticmethod", "classmethod"}:
            skip = "classmethod" in decorators
            self._function(qualified, declaration, f"_m.{owner}.{member}", skip_first=skip)
        else:
            self._function(
                qualified, declaration, f"_x.{member}", skip_first=True, owner=f"_m.{owner}"
            )

    def _function(
        self,
        name: str,
        declaration: BoundName,
        target: str,
        *,
        skip_first: bool,
        owner: str | None = None,
    ) -> None:
        nodes = [each for each in declaration.nodes if isinstance(each, FunctionNode)]
        decorators = {each for node in nodes for each in decorator_names(node)}
        managers = [each for each in _MANAGERS if each in decorators and self._has_managers]
        if not decorators <= {*_TRANSPARENT, *managers} or (managers and len(nodes) > 1):
            return  # the signature behind such a decorator cannot be written down
        kinds: tuple[Kind, ...] = ("shape",) if managers else ("shape", "types")
        for kind in kinds:
            self._count += 1
            protocol = f"_P{self._count}"
            self._lines.append(f"class {protocol}(Protocol):")
            for node in nodes:
                if len(nodes) > 1:
                    self._lines.append("    @overload")
                method = self._callback(node, typed=kind == "types", skip_first=skip_first)
                for each in managers:
                    method.returns = ast.parse(_MANAGERS[each], mode="eval").body
                self._lines += [f"    {line}" for line in ast.unparse(method).split("\n")]
            self._assign(ConformanceProbe(name, kind), protocol, target, owner)

    def _assign(
        self, probe: ConformanceProbe, annotation: str, target: str, owner: str | None
    ) -> None:
        if owner is None:
            self._lines.append(f"_v{self._count}: {annotation} = {target}")
        else:
            self._lines.append(f"def _f{self._count}(_x: {owner}) -> None:")
            self._lines.append(f"    _v{self._count}: {annotation} = {target}")
        self._probes[len(self._lines)] = probe

    def _callback(self, node: FunctionNode, *, typed: bool, skip_first: bool) -> FunctionNode:
        args = node.args
        positional = [*args.posonlyargs, *args.args][skip_first:]
        # Operands are never passed to an operator by name.
        is_special = node.name.startswith("__") and node.name not in {"__init__", "__call__"}
        only = len(positional) if is_special else len(args.posonlyargs) - skip_first
        self_parameter = ast.arg("_self")

        def part(parameter: ast.arg) -> ast.arg:
            annotation = self._type(parameter.annotation) if typed else ast.Name("Any")
            return ast.arg(parameter.arg, annotation)

        first = [part(each) for each in positional[: max(only, 0)]]
        plain = [part(each) for each in positional[max(only, 0) :]]
        signature = ast.arguments(
            posonlyargs=[self_parameter, *first] if first else [],
            args=plain if first else [self_parameter, *plain],
            vararg=part(args.vararg) if args.vararg else None,
            kwonlyargs=[part(each) for each in args.kwonlyargs],
            kw_defaults=[None if each is None else ast.Constant(...) for each in args.kw_defaults],
            kwarg=part(args.kwarg) if args.kwarg else None,
            defaults=[ast.Constant(...) for _ in args.defaults],
        )
        returns = self._type(node.returns) if typed else ast.Name("Any")
        body: list[ast.stmt] = [ast.Expr(ast.Constant(...))]
        kind = type(node) if typed else ast.FunctionDef
        method = kind("__call__", signature, body, [], returns, None)
        return ast.fix_missing_locations(method)

    def _constructor(self, name: str, declaration: BoundName) -> None:
        node = declaration.nodes[-1]
        assert isinstance(node, ast.ClassDef), "the kind says so"
        made_by = constructor_of(declaration)
        if made_by is None or is_abstract(declaration):
            return
        init = BoundName(name, "function", node.lineno, [made_by])
        self._function(name, init, f"_m.{name}", skip_first=True)

    def _on_instance(self, owner: str, qualified: str, member: str, node: ast.stmt) -> None:
        declared = declared_type(node, _QUALIFIERS)
        annotation = node.returns if isinstance(node, FunctionNode) else declared
        text = ast.unparse(self._type(annotation))
        self._count += 1
        self._assign(ConformanceProbe(qualified, "attribute"), text, f"_x.{member}", f"_m.{owner}")

    def _value(self, name: str, node: ast.stmt) -> None:
        annotation = declared_type(node, _QUALIFIERS)
        if annotation is None or name_behind(annotation) == "TypeAlias":
            return
        self._count += 1
        text = ast.unparse(self._type(annotation))
        self._assign(ConformanceProbe(name, "value"), text, f"_m.{name}", None)

    def _type(self, annotation: ast.expr | None) -> ast.expr:
        return ast.Name("Any") if annotation is None else erase(annotation, self._variables)


_HARMLESS = frozenset({"staticmethod", "classmethod", "abstractmethod", "override"})


def annotate(
    source: ast.Module, stub: Mapping[str, BoundName], imports: Sequence[str]
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
    statement: ast.stmt, stub: Mapping[str, BoundName], variables: frozenset[str]
) -> ast.stmt:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in stub:
            return _annotated_function(statement, stub[name], variables, skip_first=False)
        case ast.ClassDef(name=name, body=body) if name in stub:
            members = dict(stub[name].members)
            if (made_by := constructor_of(stub[name])) is not None:
                init = BoundName("__init__", "function", statement.lineno, [made_by])
                members.setdefault("__init__", init)
            new = [
                _annotated_function(each, members[each.name], variables, skip_first=True)
                if isinstance(each, FunctionNode) and each.name in members
                else each
                for each in body
            ]
            return copied(statement, body=new)
        case _:
            return statement


def _annotated_function(
    node: FunctionNode, declaration: BoundName, variables: frozenset[str], *, skip_first: bool
) -> FunctionNode:
    declared = declaration.nodes[-1]
    if (
        len(declaration.nodes) != 1
        or not isinstance(declared, FunctionNode)
        or isinstance(declared, ast.AsyncFunctionDef) is not isinstance(node, ast.AsyncFunctionDef)
        or not decorator_names(node) <= _HARMLESS
        or any(each.annotation is not None for each in parameters_of(node.args))
        or node.returns is not None
    ):
        return node
    types = {each.arg: each.annotation for each in parameters_of(declared.args)}
    new = copied(node, args=copy.deepcopy(node.args))
    # A type checker ignores the parameter names of a function that has no annotation at all.
    anything = ast.Name("_Any")
    is_bound = skip_first and "staticmethod" not in decorator_names(node)
    for parameter in parameters_of(new.args)[is_bound:]:
        annotation = types.get(parameter.arg)
        parameter.annotation = anything if annotation is None else erase(annotation, variables)
    # What manages a context need not be made of a generator.
    is_managed = bool(_MANAGERS.keys() & decorator_names(declared))
    is_known = declared.returns is not None and (not is_managed or _yields(node))
    new.returns = erase(declared.returns, variables) if is_known and declared.returns else anything
    return new


def _yields(node: FunctionNode) -> bool:
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))
