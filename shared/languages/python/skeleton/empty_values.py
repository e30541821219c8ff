"""Builds an expression for the emptiest value of a type."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

from shared.languages.python.conformance.constructors import constructor_of
from shared.languages.python.node_names import base_names, last_part
from shared.languages.python.stubs.declarations import Declaration, declarations
from shared.languages.python.stubs.signatures import quoted_type

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


class EmptyValues:
    """Build the emptiest values of built-in types and of classes that given modules declare."""

    def __init__(self, modules: Iterable[Sequence[ast.stmt]]) -> None:
        self._classes: dict[str, Declaration] = {}
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
        """Return the emptiest value of the elements of an iterator of that type."""
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
        """Return `None` where a member of the union is `None`, else the first member's value."""
        if any(isinstance(each, ast.Constant) and each.value is None for each in members):
            return ast.Constant(None)
        return self.of(members[0], depth + 1)

    def _of_name(self, name: str, depth: int) -> ast.expr:
        if name in self._classes:
            return self._instance(name, self._classes[name], depth)
        return ast.parse(_VALUES.get(name, "None"), mode="eval").body

    def _instance(self, name: str, declaration: Declaration, depth: int) -> ast.expr:
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
    """Return whether an expression is `...`."""
    return isinstance(node, ast.Constant) and node.value is ...
