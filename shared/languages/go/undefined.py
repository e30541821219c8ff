"""Finds the names that a Go contract uses and nothing defines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.declared.nodes import read_root, walk
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

BUILT_IN: Final = frozenset(
    {"any", "bool", "byte", "comparable", "complex64", "complex128", "error", "float32", "float64",
     "int", "int8", "int16", "int32", "int64", "rune", "string", "uint", "uint8", "uint16",
     "uint32", "uint64", "uintptr"}
)  # fmt: skip
_DECLARATIONS: Final = (
    "function_declaration", "method_declaration", "type_declaration", "var_declaration",
    "const_declaration",
)  # fmt: skip


def undefined_names(
    stub: str, known: Collection[str], imported: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yield each undefined type or package of a contract that parses, with its line.

    `known` are the types of the package, and `imported` the packages that the file has.
    """
    import tree_sitter_go

    root = read_root(tree_sitter_go.language, stub)
    if root is None or "." in imported:
        return
    for node in root.named_children:
        if node.type in _DECLARATIONS:
            yield from _undefined(node, {*known, *BUILT_IN, *_parameters(node)}, imported)


def _undefined(
    declaration: Node, known: Collection[str], imported: Collection[str]
) -> Iterator[tuple[str, int]]:
    qualified: set[int] = set()  # the bytes at which the name behind a package begins
    for node in walk(declaration, into=lambda each: each.type != "block"):
        if node.type == "qualified_type":
            package, name = (node.child_by_field_name(each) for each in ("package", "name"))
            if name is not None:
                qualified.add(name.start_byte)
            if package is not None and text_of(package) not in imported:
                yield text_of(package), node.start_point[0] + 1
        if node.type != "type_identifier" or node.start_byte in qualified:
            continue
        if text_of(node) not in known:
            yield text_of(node), node.start_point[0] + 1


def _parameters(declaration: Node) -> Iterator[str]:
    """Yield the type parameters of a declaration, and the names of the types that it makes."""
    for node in walk(declaration, into=lambda each: each.type != "block"):
        if node.type == "type_parameter_declaration":
            yield from (text_of(each) for each in node.children_by_field_name("name"))
        elif node.type in ("type_spec", "type_alias"):
            yield text_of(node.child_by_field_name("name"))
    receiver = declaration.child_by_field_name("receiver")
    for node in walk(receiver) if receiver is not None else ():
        if node.type == "type_arguments":
            yield from (text_of(each) for each in node.named_children)
