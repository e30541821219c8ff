"""Finds the types that a Rust contract uses and nothing defines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.declared.nodes import read_root, walk
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_PRELUDE: Final = frozenset(
    {"Self", "Option", "Some", "None", "Result", "Ok", "Err", "String", "Vec", "Box", "Send",
     "Sync", "Sized", "Copy", "Clone", "Drop", "Fn", "FnMut", "FnOnce", "ToOwned", "ToString",
     "PartialEq", "PartialOrd", "Eq", "Ord", "AsRef", "AsMut", "Into", "From", "Default",
     "Iterator", "Extend", "IntoIterator", "DoubleEndedIterator", "ExactSizeIterator", "TryFrom",
     "TryInto", "FromIterator", "Unpin", "Future", "IntoFuture", "AsyncFn", "AsyncFnMut",
     "AsyncFnOnce"}
)  # fmt: skip
# `type_binding` is `Item = u8` in `Iterator<Item = u8>`.
_NAMING: Final = (
    "type_parameter", "const_parameter", "associated_type", "type_item", "type_binding",
    "struct_item", "enum_item", "union_item", "trait_item",
)  # fmt: skip
_OWN_SCOPE: Final = ("mod_item", "macro_invocation", "macro_definition", "use_declaration")


def undefined_names(stub: str, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield each undefined type of a contract that parses, with its line.

    `known` are the names that the file has: `*` stands for names that nobody knows.
    """
    import tree_sitter_rust

    root = read_root(tree_sitter_rust.language, stub)
    if root is None or "*" in known:
        return
    for item in root.named_children:
        if item.type not in _OWN_SCOPE:
            yield from _undefined(item, {*known, *_PRELUDE, *_own_names(item)})


def _undefined(item: Node, known: Collection[str]) -> Iterator[tuple[str, int]]:
    for node in walk(item, into=_is_read):
        if node.type == "type_identifier" and text_of(node) not in known:
            yield text_of(node), node.start_point[0] + 1


def _is_read(node: Node) -> bool:
    # The last part of `fmt::Formatter` is defined elsewhere, and attributes are not types.
    return node.type not in ("scoped_type_identifier", "block", "attribute_item", "token_tree")


def _own_names(item: Node) -> Iterator[str]:
    """Yield the names that an item defines for itself: type parameters and associated types."""
    for node in walk(item, into=lambda each: each.type != "block"):
        if node.type in _NAMING:
            yield text_of(node.child_by_field_name("name"))
