"""Chooses an empty value for a declared type: 0, "", [], {} and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH: Final = 6  # of types within each other
NOTHING: Final = "undefined"
_PLAIN: Final = {
    "number": "0", "string": '""', "boolean": "false", "bigint": "0n", "symbol": 'Symbol("")',
    "object": "{}", "void": NOTHING, "undefined": NOTHING, "null": "null", "any": NOTHING,
    "unknown": NOTHING, "never": NOTHING,
}  # fmt: skip
_NAMED: Final = {
    "Map": "new Map()", "Set": "new Set()", "WeakMap": "new WeakMap()", "Date": "new Date(0)",
    "RegExp": "/(?:)/", "Error": 'new Error("")', "Array": "[]", "ReadonlyArray": "[]",
    "ReadonlyMap": "new Map()", "ReadonlySet": "new Set()", "Record": "{}", "Partial": "{}",
    "Required": "{}", "Readonly": "{}", "Pick": "{}", "Omit": "{}", "Iterable": "[]",
    "ArrayLike": "[]", "Iterator": "[][Symbol.iterator]()", "Uint8Array": "new Uint8Array()",
    "Generator": "(function* () {})()", "IterableIterator": "[][Symbol.iterator]()",
    "AsyncGenerator": "(async function* () {})()", "AsyncIterable": "(async function* () {})()",
    "Buffer": 'Buffer.from("")', "URL": 'new URL("about:blank")', "Function": "() => undefined",
}  # fmt: skip
_WRAPPERS: Final = frozenset(
    {"type_annotation", "parenthesized_type", "readonly_type", "asserts_annotation"}
)


class EmptyValues:
    """Choose values for types; `declared` has the nodes of the types that stubs declare."""

    def __init__(self, declared: Mapping[str, Node]) -> None:
        self._declared = declared

    def of(self, node: Node | None, depth: int = _MAX_DEPTH) -> str:
        """Return code for an empty value of a type; `undefined` where none is known."""
        if node is None or not depth:
            return NOTHING
        match node.type:
            case kind if kind in _WRAPPERS:
                return self.of(next(iter(node.named_children), None), depth)
            case "predefined_type" | "literal_type":
                return self._plain(node)
            case "array_type" | "tuple_type":
                return "[]"
            case "object_type" | "interface_body":
                return self._object(node, depth)
            case "function_type":
                return f"() => {self.of(node.child_by_field_name('return_type'), depth - 1)}"
            case "union_type":
                parts = [self.of(each, depth - 1) for each in node.named_children]
                return next((e for e in parts if e in {NOTHING, "null"}), parts[0])
            case "intersection_type":
                parts = [self.of(each, depth - 1) for each in node.named_children]
                return f"{{ {', '.join(f'...{each}' for each in parts)} }}"
            case "generic_type" | "type_identifier" | "nested_type_identifier":
                return self._named(node, depth)
            case "type_predicate_annotation" | "type_predicate":
                return "false"
            case "this_type":
                return "this"
            case _:
                return NOTHING

    def _plain(self, node: Node) -> str:
        text = text_of(node)
        if text in _PLAIN:
            return _PLAIN[text]
        if text[:1] in {"'", '"', "`"}:
            return '""'
        return "0" if text[:1].isdigit() or text[:1] == "-" else "false"

    def _named(self, node: Node, depth: int) -> str:
        name = text_of(node.child_by_field_name("name") or node)
        name = name.partition("<")[0]
        arguments = node.child_by_field_name("type_arguments")
        if name in {"Promise", "PromiseLike"}:
            inner = arguments.named_children[0] if arguments and arguments.named_children else None
            return f"Promise.resolve({self.of(inner, depth - 1)})"
        declared = self._declared.get(name)
        if declared is None:
            return _NAMED.get(name, NOTHING)
        if declared.type == "type_alias_declaration":
            return self.of(declared.child_by_field_name("value"), depth - 1)
        if declared.type == "interface_declaration":
            return self._object(declared.child_by_field_name("body"), depth - 1)
        if declared.type == "enum_declaration":
            return f"Object.values({name})[0]"
        return f"Object.create({name}.prototype)"

    def _object(self, body: Node | None, depth: int) -> str:
        members: list[str] = []
        for each in body.named_children if body is not None else ():
            name = text_of(each.child_by_field_name("name"))
            is_optional = any(part.type == "?" for part in each.children)
            if not name or is_optional or name.startswith("["):
                continue
            if each.type == "method_signature":
                made = self.of(each.child_by_field_name("return_type"), depth - 1)
                members.append(f"{name}: () => ({made})")
            elif each.type == "property_signature":
                members.append(f"{name}: {self.of(each.child_by_field_name('type'), depth - 1)}")
        return f"{{ {', '.join(members)} }}" if members else "{}"
