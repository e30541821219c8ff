"""Builds a module that uses an implementation as its stub declares it, for a type checker to read.

For each function, method and constructor the module has a callback protocol made from the stub,
and assigns the implementation to it. For each variable and attribute it has an assignment to the
declared type. Where the checker objects, the implementation does not keep to the stub. The module
is never run.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from shared.languages.python.conformance.constructors import constructor_of, is_abstract
from shared.languages.python.conformance.plain_types import declared_type, erase, type_variables
from shared.languages.python.node_names import decorator_names, name_behind
from shared.languages.python.stubs.declarations import Declaration

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Kind = Literal["shape", "types", "value", "attribute"]

_TRANSPARENT: Final = frozenset(
    {"staticmethod", "classmethod", "abstractmethod", "override", "final", "overload", "cache",
     "lru_cache", "property", "cached_property"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Probe:
    """Represent one use of a declared name.

    A probe of the kind `shape` checks only the number and the names of the parameters.
    """

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ProbeModule:
    """Hold the text of a probe module, and its probes by line number, from 1."""

    text: str
    probes: Mapping[int, Probe]


def build_probe(
    module: str, stub: Mapping[str, Declaration], imports: Sequence[str], present: Collection[str]
) -> ProbeModule:
    """Return the probe of the module with the dotted name `module`.

    `stub` has the module's declarations, `imports` the import statements of the stub, made
    absolute, and `present` the names that the implementation has.
    """
    return _Builder(module, stub, imports, present).build()


class _Builder:
    def __init__(
        self,
        module: str,
        stub: Mapping[str, Declaration],
        imports: Sequence[str],
        present: Collection[str],
    ) -> None:
        self._stub = {name: each for name, each in stub.items() if name in present}
        self._variables = type_variables(stub)
        self._lines = [
            "from __future__ import annotations",
            "from typing import Any, Protocol, overload",
        ]
        self._lines += [*imports, f"import {module} as _m"]
        types = sorted(name for name in self._stub if name not in self._variables)
        if types:
            self._lines.append(f"from {module} import {', '.join(types)}")
        self._probes: dict[int, Probe] = {}
        self._count = 0

    def build(self) -> ProbeModule:
        for name, declaration in self._stub.items():
            match declaration.kind:
                case "function":
                    self._function(name, declaration, f"_m.{name}", skip_first=False)
                case "class":
                    self._class(name, declaration)
                case "variable" if name not in self._variables:
                    self._value(name, declaration.nodes[-1], f"_m.{name}", "value")
                case _:
                    pass
        return ProbeModule("\n".join(self._lines) + "\n", self._probes)

    def _class(self, name: str, declaration: Declaration) -> None:
        self._constructor(name, declaration)
        for member, each in declaration.members.items():
            qualified = f"{name}.{member}"
            if member in {"__init__", "__new__"} or (each.kind == "import"):
                continue
            node = each.nodes[-1]
            if each.kind == "function" and isinstance(node, _FunctionNode):
                self._method(name, member, each, node)
            elif each.kind == "variable":
                self._on_instance(name, qualified, member, node)

    def _method(
        self, owner: str, member: str, declaration: Declaration, node: _FunctionNode
    ) -> None:
        qualified, decorators = f"{owner}.{member}", decorator_names(node)
        if decorators & {"property", "cached_property", "setter"}:
            first = declaration.nodes[0]
            self._on_instance(owner, qualified, member, first)
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
        declaration: Declaration,
        target: str,
        *,
        skip_first: bool,
        owner: str | None = None,
    ) -> None:
        nodes = [each for each in declaration.nodes if isinstance(each, _FunctionNode)]
        if not all(decorator_names(each) <= _TRANSPARENT for each in nodes):
            return  # the signature behind such a decorator cannot be written down
        for kind in ("shape", "types"):
            self._count += 1
            protocol = f"_P{self._count}"
            self._lines.append(f"class {protocol}(Protocol):")
            for node in nodes:
                if len(nodes) > 1:
                    self._lines.append("    @overload")
                method = self._callback(node, typed=kind == "types", skip_first=skip_first)
                self._lines += [f"    {line}" for line in ast.unparse(method).split("\n")]
            self._assign(Probe(name, kind), protocol, target, owner)

    def _assign(self, probe: Probe, annotation: str, target: str, owner: str | None) -> None:
        if owner is None:
            self._lines.append(f"_v{self._count}: {annotation} = {target}")
        else:
            self._lines.append(f"def _f{self._count}(_x: {owner}) -> None:")
            self._lines.append(f"    _v{self._count}: {annotation} = {target}")
        self._probes[len(self._lines)] = probe

    def _callback(self, node: _FunctionNode, *, typed: bool, skip_first: bool) -> _FunctionNode:
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

    def _constructor(self, name: str, declaration: Declaration) -> None:
        node = declaration.nodes[-1]
        assert isinstance(node, ast.ClassDef), "the kind says so"
        made_by = constructor_of(declaration)
        if made_by is None or is_abstract(declaration):
            return
        init = Declaration(name, "function", node.lineno, [made_by])
        self._function(name, init, f"_m.{name}", skip_first=True)

    def _on_instance(self, owner: str, qualified: str, member: str, node: ast.stmt) -> None:
        annotation = node.returns if isinstance(node, _FunctionNode) else declared_type(node)
        text = self._text(annotation)
        self._count += 1
        self._assign(Probe(qualified, "attribute"), text, f"_x.{member}", f"_m.{owner}")

    def _value(self, name: str, node: ast.stmt, target: str, kind: Kind) -> None:
        annotation = declared_type(node)
        if annotation is None or name_behind(annotation) == "TypeAlias":
            return
        self._count += 1
        self._assign(Probe(name, kind), self._text(annotation), target, None)

    def _text(self, annotation: ast.expr | None) -> str:
        return ast.unparse(self._type(annotation))

    def _type(self, annotation: ast.expr | None) -> ast.expr:
        return ast.Name("Any") if annotation is None else erase(annotation, self._variables)
