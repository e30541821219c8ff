"""Lists what a Rust file offers to other modules: items that are `pub`, also `pub(crate)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.syntax_tree import (
    block,
    cut,
    head_of,
    lines_or_none,
    parse,
    shown,
    text_of,
    value_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH: Final = 4  # of modules within each other
_TESTS: Final = re.compile(r"#\[\s*(?:cfg\s*\(\s*test\s*\)|test\s*\])")
_DERIVE: Final = re.compile(r"#\[\s*derive\b")
_EXPORTED_MACRO: Final = "macro_export"


def public_names(text: str) -> tuple[str, ...] | None:
    """Return a line for each public item, without bodies; tests are left out.

    The result is empty where nothing is public, and `None` where the text is not Rust.
    """
    import tree_sitter_rust

    root = parse(tree_sitter_rust.language, text)
    return None if root is None else lines_or_none(root, _items(root.named_children, _MAX_DEPTH))


def _items(nodes: Sequence[Node], depth: int) -> Iterator[str]:
    attributes: list[str] = []
    for node in nodes:
        if node.type == "attribute_item":
            attributes.append(shown(node))
            continue
        if node.type.endswith("comment"):
            continue
        if not any(map(_TESTS.match, attributes)):
            lines = list(_item(node, attributes, depth))
            if lines:
                yield from (each for each in attributes if _DERIVE.match(each))
            yield from lines
        attributes = []


def _item(node: Node, attributes: Sequence[str], depth: int) -> Iterator[str]:
    body = node.child_by_field_name("body")
    if node.type == "impl_item":
        yield from _implementation(node, body)
    elif node.type == "macro_definition":
        if any(_EXPORTED_MACRO in each for each in attributes):
            yield f"macro_rules! {text_of(node.child_by_field_name('name'))}"
    elif _is_public(node):
        yield from _public_item(node, body, depth)


def _public_item(node: Node, body: Node | None, depth: int) -> Iterator[str]:
    match node.type:
        case "struct_item" | "union_item" if body and body.type == "field_declaration_list":
            fields = (shown(each) for each in body.named_children if _is_public(each))
            yield from block(head_of(node, body), fields)
        case "enum_item" if body is not None:
            variants = (shown(each) for each in body.named_children if each.type == "enum_variant")
            yield from block(head_of(node, body), variants)
        case "trait_item" if body is not None:
            yield from block(head_of(node, body), _members(body, of_trait=True))
        case "mod_item" if body is not None:
            if depth:
                yield from block(head_of(node, body), _items(body.named_children, depth - 1))
        case "const_item" | "static_item":
            value = node.child_by_field_name("value")
            declared = head_of(node, value).rstrip("= ;")
            yield cut(declared + (f" = {value_of(value)};" if value else ";"))
        case "function_item":
            yield f"{head_of(node, body)};"
        case _:  # a tuple struct, a type, a module in a file of its own, a name that is passed on
            yield shown(node)


def _implementation(node: Node, body: Node | None) -> Iterator[str]:
    if node.child_by_field_name("trait") is not None:
        yield head_of(node, body)
    elif body is not None and (members := [*_members(body, of_trait=False)]):
        yield from block(head_of(node, body), members)


def _members(body: Node, *, of_trait: bool) -> Iterator[str]:
    for each in body.named_children:
        match each.type:
            case "function_item" | "function_signature_item" | "const_item":
                if of_trait or _is_public(each):
                    yield head_of(each, each.child_by_field_name("body")).rstrip(";") + ";"
            case "associated_type" if of_trait:
                yield shown(each)
            case _:
                pass


def _is_public(node: Node) -> bool:
    return any(each.type == "visibility_modifier" for each in node.named_children)
