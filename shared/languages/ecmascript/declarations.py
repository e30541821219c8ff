"""Shows one declaration of JavaScript or TypeScript as lines, without its body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.syntax_tree import block, cut, head_of, shown, text_of, value_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH: Final = 3  # of namespaces within each other
_CLASSES: Final = ("class_declaration", "abstract_class_declaration", "class")
_FUNCTIONS: Final = (
    "function_declaration",
    "generator_function_declaration",
    "function_signature",
    "function_expression",
    "generator_function",
)
_VARIABLES: Final = ("lexical_declaration", "variable_declaration")
_NAMESPACES: Final = ("internal_module", "module")
_FIELDS: Final = ("public_field_definition", "field_definition")
_SIGNATURES: Final = (
    "method_definition",
    "method_signature",
    "abstract_method_signature",
    "property_signature",
    "call_signature",
    "construct_signature",
    "index_signature",
)


def declared_names(node: Node) -> Iterator[str]:
    """Yield the names that a top-level declaration gives."""
    if node.type in _VARIABLES:
        for each in node.named_children:
            if each.type == "variable_declarator":
                yield text_of(each.child_by_field_name("name"))
    elif node.type.endswith("_declaration") and (name := node.child_by_field_name("name")):
        yield text_of(name)


def declaration(node: Node, depth: int = _MAX_DEPTH, *, only: str = "") -> Iterator[str]:
    """Yield the lines of a declaration; `only` names the one variable that is meant."""
    body = node.child_by_field_name("body")
    kind = node.type
    if kind in _FUNCTIONS:
        yield head_of(node, body).rstrip(";")
    elif kind in _CLASSES or kind == "interface_declaration":
        yield from block(head_of(node, body), _members(body))
    elif kind in _VARIABLES:
        yield from _variables(node, only)
    elif kind in _NAMESPACES:
        yield from block(head_of(node, body), _namespace(body, depth))
    elif kind == "expression_statement" and node.named_children and depth:
        yield from declaration(node.named_children[0], depth - 1)  # a namespace stands in one
    elif kind == "ambient_declaration":
        yield from _ambient(node, depth)
    else:  # a type alias or an enum
        yield shown(node).rstrip(";")


def initial_value(node: Node, name: str) -> Node | None:
    """Return the value that a declaration of variables gives `name`, if it does."""
    for each in node.named_children if node.type in _VARIABLES else ():
        if text_of(each.child_by_field_name("name")) == name:
            return each.child_by_field_name("value")
    return None


def value_lines(node: Node) -> Iterator[str]:
    """Yield the lines of a value that is exported: a function, a class, or anything else."""
    if node.type == "arrow_function":
        yield cut(f"{head_of(node, node.child_by_field_name('body'))} ...")
    elif node.type in _FUNCTIONS or node.type in _CLASSES:
        yield from declaration(node)
    else:
        yield value_of(node)


def _variables(node: Node, only: str) -> Iterator[str]:
    keyword = text_of(node.children[0]) if node.children else "const"
    for each in node.named_children:
        if each.type != "variable_declarator":
            continue
        name, kind, value = (each.child_by_field_name(part) for part in ("name", "type", "value"))
        if only and text_of(name) != only:
            continue
        declared = f"{keyword} {text_of(name)}{text_of(kind)}"
        if value is None:
            yield cut(declared)
        else:
            first, *others = value_lines(value)
            yield cut(f"{declared} = {first}")
            yield from others


def _ambient(node: Node, depth: int) -> Iterator[str]:
    for each in node.named_children if depth else ():
        if each.type == "statement_block":
            inner = (line for part in each.named_children for line in declaration(part, depth - 1))
            yield from block("declare global", inner)
        else:
            for count, line in enumerate(declaration(each, depth - 1)):
                yield line if count else cut(f"declare {line}")


def _namespace(body: Node | None, depth: int) -> Iterator[str]:
    for each in body.named_children if body is not None and depth else ():
        inner = each.child_by_field_name("declaration")
        if each.type == "export_statement" and inner is not None:
            yield from declaration(inner, depth - 1)


def _members(body: Node | None) -> Iterator[str]:
    for each in body.named_children if body is not None else ():
        if _is_private(each):
            continue
        if each.type in _SIGNATURES:
            yield head_of(each, each.child_by_field_name("body"))
        elif each.type in _FIELDS:
            value = each.child_by_field_name("value")
            declared = head_of(each, value).rstrip("= ;")
            yield cut(declared + (f" = {value_of(value)}" if value else ""))


def _is_private(node: Node) -> bool:
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is not None and (
        name.type == "private_property_identifier" or text_of(name)[:1] == "_"
    ):
        return True
    return any(
        each.type == "accessibility_modifier" and text_of(each) == "private"
        for each in node.named_children
    )
