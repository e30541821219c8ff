"""Lists the names that imports and patterns bind in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.syntax import walk
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_WHOLE_IMPORTS: Final = frozenset({"import_clause", "namespace_import"})


def local_names(statement: Node) -> Iterator[str]:
    """Yield the names that an import binds in its own file."""
    for clause in statement.named_children:
        if clause.type != "import_clause":
            continue
        for each in walk(clause):
            if each.type == "import_specifier":
                name = each.child_by_field_name("alias") or each.child_by_field_name("name")
                yield text_of(name)
            elif each.type == "identifier" and _parent_type(each) in _WHOLE_IMPORTS:
                yield text_of(each)


def pattern_names(pattern: Node | None) -> Iterator[str]:
    """Yield the names that a pattern binds: `a`, or those of `{ a, b: c }` and `[d]`."""
    if pattern is None:
        return
    if pattern.type == "identifier":
        yield text_of(pattern)
    elif pattern.type in {"object_pattern", "array_pattern", "pair_pattern", "rest_pattern",
                          "assignment_pattern", "object_assignment_pattern"}:  # fmt: skip
        for each in pattern.named_children:
            if each.type == "shorthand_property_identifier_pattern":
                yield text_of(each)
            elif each.type != "property_identifier":
                yield from pattern_names(each)


def _parent_type(node: Node) -> str:
    return node.parent.type if node.parent is not None else ""
