"""Lists what a Go file exports: the names that begin with an upper-case letter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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


def public_names(text: str) -> tuple[str, ...] | None:
    """Return the package and a line for each exported declaration, without bodies.

    The result is empty where nothing is exported, and `None` where the text is not Go.
    """
    import tree_sitter_go

    root = parse(tree_sitter_go.language, text)
    return None if root is None else lines_or_none(root, _file(root))


def _file(root: Node) -> Iterator[str]:
    lines = [line for node in root.named_children for line in _declaration(node)]
    if lines:
        yield from (shown(node) for node in root.named_children if node.type == "package_clause")
        yield from lines


def _declaration(node: Node) -> Iterator[str]:
    match node.type:
        case "function_declaration":
            if _is_exported(node):
                yield head_of(node, node.child_by_field_name("body"))
        case "method_declaration":
            if _is_exported(node) and _receiver(node)[:1].isupper():
                yield head_of(node, node.child_by_field_name("body"))
        case "type_declaration":
            for each in node.named_children:
                if each.type in ("type_spec", "type_alias") and _is_exported(each):
                    yield from _type(each)
        case "const_declaration" | "var_declaration":
            keyword = node.type.removesuffix("_declaration")
            for each in _specifications(node):
                yield from _values(keyword, each)
        case _:
            pass


def _is_exported(node: Node) -> bool:
    return text_of(node.child_by_field_name("name"))[:1].isupper()


def _receiver(node: Node) -> str:
    """Return the name of the type that a method belongs to: `Cart` for `(c *Cart[T])`."""
    written = text_of(node.child_by_field_name("receiver")).strip("()").split("[")[0]
    return written.replace("*", " ").split()[-1] if written else ""


def _type(node: Node) -> Iterator[str]:
    kind = node.child_by_field_name("type")
    match kind.type if kind is not None else "":
        case "struct_type" if kind is not None:
            fields = [each for part in kind.named_children for each in part.named_children]
            yield from block(f"type {head_of(node, kind)} struct", _fields(fields))
        case "interface_type" if kind is not None:
            members = (shown(each) for each in kind.named_children if each.type != "comment")
            yield from block(f"type {head_of(node, kind)} interface", members)
        case _:
            yield cut(f"type {shown(node)}")


def _fields(fields: list[Node]) -> Iterator[str]:
    for field in fields:
        if field.type != "field_declaration":
            continue
        names = [text_of(each) for each in field.children_by_field_name("name")]
        kind = text_of(field.child_by_field_name("type"))
        exported = [name for name in names if name[:1].isupper()]
        if not names:  # an embedded type
            yield cut(kind)
        elif exported:
            yield cut(f"{', '.join(exported)} {kind}")


def _specifications(node: Node) -> Iterator[Node]:
    for each in node.named_children:
        if each.type in ("const_spec", "var_spec"):
            yield each
        elif each.type == "var_spec_list":
            yield from each.named_children


def _values(keyword: str, node: Node) -> Iterator[str]:
    names = [text_of(each) for each in node.children_by_field_name("name")]
    exported = [name for name in names if name[:1].isupper() and name.isidentifier()]
    if not exported:
        return
    kind, value = (node.child_by_field_name(field) for field in ("type", "value"))
    line = f"{keyword} {', '.join(exported)}" + (f" {text_of(kind)}" if kind else "")
    yield cut(line + (f" = {value_of(value)}" if value and exported == names else ""))
