"""Reads a file of JavaScript or TypeScript as its declarations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from shared.languages.declared.model import Declarations, Declared, Fault, Imported, Kind
from shared.languages.declared.nodes import UNREADABLE, Offsets
from shared.languages.ecmascript.definitions.imported import imported_names
from shared.languages.ecmascript.syntax import find_fault, tree_of
from shared.languages.syntax_tree import head_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_TYPES: Final = frozenset({"interface_declaration", "type_alias_declaration", "enum_declaration"})
_SIGNATURES: Final = frozenset({"function_signature", "method_signature"})
_FUNCTIONS: Final = frozenset(
    {"function_declaration", "generator_function_declaration", "function_signature",
     "function_expression", "generator_function", "arrow_function"}
)  # fmt: skip
_VARIABLES: Final = frozenset({"lexical_declaration", "variable_declaration"})
_METHODS: Final = frozenset({"method_definition", "method_signature", "abstract_method_signature"})
_FIELDS: Final = frozenset({"public_field_definition", "field_definition"})
_EXPORTS: Final = ("module.exports", "exports")
_MAX_EXCERPT: Final = 120


@lru_cache(maxsize=32)
def read_source(path: str, text: str) -> Declarations:
    """Return the declarations of the file at `path`. Never raises.

    A declaration is public where the file exports it; a member, unless it is marked as private. A
    function with overloads is one declaration.
    """
    root = tree_of(path, text)
    if root is None:
        return Declarations(text, fault=UNREADABLE)
    reader = _Reader(text)
    found = [each for node in root.named_children for each in reader.items(node, "")]
    listed = {name for node in root.named_children for name in _listed(node)}
    items = tuple(_shown(list(_joined(found)), listed))
    own = {each.name for each in items}
    passed_on = (each for node in root.named_children for each in reader.passed_on(node))
    others = tuple(each for each in passed_on if each.name not in own)
    imports = tuple(each for node in root.named_children for each in reader.imports(node))
    return Declarations(text, (*items, *others), imports, _fault(root, text))


def _fault(root: Node, text: str) -> Fault | None:
    fault = find_fault(root)
    if fault is None:
        return None
    lines = text.split("\n")
    excerpt = lines[fault.line - 1].strip()[:_MAX_EXCERPT] if fault.line <= len(lines) else ""
    return Fault(fault.message, fault.line, excerpt)


def _joined(items: Sequence[Declared]) -> Iterator[Declared]:
    """Yield the items, overloads and what they stand for as one."""
    for (_, kind), group in groupby(items, key=lambda each: (each.name, each.kind)):
        same = list(group)
        last = same[-1]
        if kind == "function" and all(e.separator == "" for e in same[:-1]):
            yield replace(last, start=same[0].start, line=same[0].line, is_public=same[0].is_public)
        else:
            yield from same


def _shown(items: Sequence[Declared], listed: Collection[str]) -> Iterator[Declared]:
    """Yield the items, public where the file exports them; members, where it exports the class."""
    public = {each.name for each in items if not each.owner and each.is_public} | {*listed}
    for each in items:
        is_public = each.is_public and each.owner in public if each.owner else each.name in public
        yield replace(each, is_public=is_public)


def _listed(node: Node) -> Iterator[str]:
    """Yield the names that a statement exports apart from their declarations."""
    if node.type == "export_statement" and node.child_by_field_name("source") is None:
        value = node.child_by_field_name("value")
        if value is not None and value.type == "identifier":
            yield text_of(value)
        for clause in node.named_children:
            for each in clause.named_children if clause.type == "export_clause" else ():
                yield text_of(each.child_by_field_name("name"))
    elif node.type == "expression_statement" and (target := _assigned(node)) is not None:
        name, value = target
        if name in _EXPORTS and value.type == "object":
            for each in value.named_children:
                yield text_of(each.child_by_field_name("value") or each)
        elif value.type == "identifier":
            yield text_of(value)


def _assigned(statement: Node) -> tuple[str, Node] | None:
    """Return the target and the value of an assignment to what a script exports."""
    node = statement.named_children[0] if statement.named_children else statement
    left, right = (node.child_by_field_name(each) for each in ("left", "right"))
    if node.type != "assignment_expression" or left is None or right is None:
        return None
    name = text_of(left)
    is_exported = name in _EXPORTS or name.rpartition(".")[0] in _EXPORTS
    return (name, right) if is_exported else None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = Offsets(text).character

    def imports(self, node: Node) -> Iterator[Imported]:
        at = (self._at(node.start_byte), self._at(node.end_byte))
        yield from imported_names(node, *at)

    def passed_on(self, node: Node) -> Iterator[Declared]:
        """Yield the names that a statement exports and that are declared elsewhere."""
        for clause in node.named_children if node.type == "export_statement" else ():
            for each in clause.named_children if clause.type == "export_clause" else ():
                shown = each.child_by_field_name("alias") or each.child_by_field_name("name")
                yield self._declared(text_of(shown), "value", node, node, public=True)

    def items(self, node: Node, keyword: str) -> Iterator[Declared]:
        """Yield the declarations of a statement; `keyword` is there where it is exported."""
        outer = node
        while node.type in ("export_statement", "ambient_declaration"):
            if node.type == "export_statement":
                keyword = "default" if any(e.type == "default" for e in node.children) else "export"
            inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
            if node.type == "ambient_declaration":
                inner = node.named_children[0] if node.named_children else None
            if inner is None:
                return
            node = inner
        yield from self._statement(node, outer, keyword)

    def _statement(self, node: Node, outer: Node, keyword: str) -> Iterator[Declared]:
        public = bool(keyword)
        name = text_of(node.child_by_field_name("name"))
        if node.type in _CLASSES | _TYPES and (name or public):
            yield self._declared(name or "default", "type", node, outer, public=public)
            yield from self._members(name or "default", node.child_by_field_name("body"))
        elif node.type in _FUNCTIONS and (name or public):
            yield self._declared(name or "default", "function", node, outer, public=public)
        elif node.type in _VARIABLES:
            for each in node.named_children:
                if each.type == "variable_declarator" and not _is_required(each):
                    named = text_of(each.child_by_field_name("name"))
                    value = each.child_by_field_name("value")
                    yield self._declared(named, _kind(value), value or each, outer, public=public)
        elif node.type == "expression_statement" and (target := _assigned(node)) is not None:
            name, value = target
            if name not in _EXPORTS:
                last = name.rpartition(".")[2]
                if value.type != "identifier":
                    yield self._declared(last, _kind(value), value, outer, public=True)
        elif keyword == "default":
            yield self._declared("default", "value", node, outer, public=True)

    def _members(self, owner: str, body: Node | None) -> Iterator[Declared]:
        first: Node | None = None  # the first of the decorators above a member
        for each in body.named_children if body is not None else ():
            if each.type == "decorator":
                first = first or each
                continue
            value = each.child_by_field_name("value")
            is_function = each.type in _FIELDS and value is not None and value.type in _FUNCTIONS
            if (
                body is not None
                and body.type == "class_body"
                and (each.type in _METHODS or is_function)
            ):
                name = each.child_by_field_name("name") or each.child_by_field_name("property")
                public = not _is_private(each, text_of(name))
                whole = value if is_function and value is not None else each
                item = self._declared(
                    f"{owner}.{text_of(name)}", "function", whole, each, public=public
                )
                start = self._at(first.start_byte) if first is not None else item.start
                yield replace(item, start=start, text=self._text[start : item.end])
            first = None

    def _declared(
        self, name: str, kind: Kind, node: Node, outer: Node, *, public: bool
    ) -> Declared:
        """Return a declaration; `separator` is empty for a signature without a body."""
        body = node.child_by_field_name("body")
        is_block = body is not None and body.type in ("statement_block", "class_body")
        start, end = self._at(outer.start_byte), self._at(outer.end_byte)
        return Declared(
            name=name,
            kind=kind,
            head=head_of(outer, body).strip(),
            key="",
            line=outer.start_point[0] + 1,
            start=start,
            end=end,
            is_public=public,
            body=(self._at(body.start_byte), self._at(body.end_byte))
            if body is not None and is_block
            else None,
            text=self._text[start:end],
            separator="" if node.type in _SIGNATURES else "\n",
        )


def _kind(value: Node | None) -> Kind:
    if value is None:
        return "value"
    return "function" if value.type in _FUNCTIONS else "type" if value.type in _CLASSES else "value"


def _is_required(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return value is not None and text_of(value).startswith("require(")


def _is_private(node: Node, name: str) -> bool:
    hidden = ("private", "protected")
    return name.startswith(("#", "_")) or any(text_of(e) in hidden for e in node.named_children)
