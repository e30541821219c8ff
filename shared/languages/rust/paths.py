"""Reads the paths that `use` brings in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.declared.nodes import tokens_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH: Final = 20  # of braces within each other


def imported_paths(
    node: Node | None, before: str = "", depth: int = _MAX_DEPTH
) -> Iterator[tuple[str, str]]:
    """Yield each name that the argument of a `use` brings in, with its path; `*` for a glob."""
    if node is None or not depth:
        return
    match node.type:
        case "use_list":
            for each in node.named_children:
                yield from imported_paths(each, before, depth - 1)
        case "scoped_use_list":
            path = _joined(before, _path(node.child_by_field_name("path")))
            yield from imported_paths(node.child_by_field_name("list"), path, depth - 1)
        case "use_as_clause":
            path = _joined(before, _path(node.child_by_field_name("path")))
            yield _path(node.child_by_field_name("alias")), path
        case "use_wildcard":
            inner = node.named_children
            yield "*", _joined(before, _path(inner[0]) if inner else "")
        case "self":
            yield before.rpartition("::")[2], before
        case _:
            path = _joined(before, _path(node))
            yield path.rpartition("::")[2], path


def _path(node: Node | None) -> str:
    return tokens_of(node).replace(" ", "")


def _joined(before: str, path: str) -> str:
    return "::".join(filter(None, (before, path.removeprefix("::"))))
