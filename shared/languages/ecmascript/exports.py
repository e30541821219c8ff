"""Finds the exports in a syntax tree of JavaScript or TypeScript, whose trees have equal names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.declarations import (
    declaration,
    declared_names,
    initial_value,
    value_lines,
)
from shared.languages.syntax_tree import cut, head_of, shown, text_of, value_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_CHAIN: Final = 10  # of `a = b = value`
_WHOLE: Final = ("module.exports", "exports")
_MEMBERS: Final = tuple(f"{each}." for each in _WHOLE)

# The declarations by their names. One that was shown is taken out, so that a file which exports a
# large class under a thousand names is no burden.
Declared = dict[str, "Node"]


def exports(root: Node) -> Iterator[str]:
    """Yield a line for each export of a module, and for each member of what it exports.

    A name that is exported apart from its declaration is shown with the declaration.
    """
    declared = {name: node for node in root.named_children for name in declared_names(node)}
    for node in root.named_children:
        match node.type:
            case "export_statement":
                yield from _export(node, declared)
            case "expression_statement" if node.named_children:
                yield from _assignment(node.named_children[0], declared)
            case "ambient_declaration":
                yield from declaration(node)
            case _:
                pass


def _export(node: Node, declared: Declared) -> Iterator[str]:
    keyword = (
        "export default" if any(each.type == "default" for each in node.children) else "export"
    )
    inner, value = (node.child_by_field_name(field) for field in ("declaration", "value"))
    if inner is not None:
        for name in [*declared_names(inner)] or [""]:
            yield from _prefixed(keyword, declaration(inner, only=name))
    elif value is not None:
        yield from _exported_value(keyword, value, declared)
    elif node.child_by_field_name("source") is not None:
        yield shown(node).rstrip(";")
    else:
        clauses = [each for each in node.named_children if each.type == "export_clause"]
        if not clauses:
            yield shown(node).rstrip(";")
        for clause in clauses:
            for each in clause.named_children:
                yield from _specifier(each, declared)


def _specifier(node: Node, declared: Declared) -> Iterator[str]:
    if node.type != "export_specifier":
        return
    name = text_of(node.child_by_field_name("name"))
    alias = text_of(node.child_by_field_name("alias"))
    if alias and alias != name:
        yield cut(f"export {{ {name} as {alias} }}")
        keyword = ""
    else:
        keyword = "export"
    if name in declared:
        yield from _prefixed(keyword, declaration(declared.pop(name), only=name))
    elif keyword:
        yield cut(f"export {{ {name} }}")


def _exported_value(keyword: str, value: Node, declared: Declared) -> Iterator[str]:
    name = text_of(value)
    if value.type == "identifier" and name in declared:
        yield from _prefixed(keyword, declaration(declared.pop(name), only=name))
    else:
        yield from _prefixed(keyword, value_lines(value))


def _assignment(node: Node, declared: Declared) -> Iterator[str]:
    """Yield the lines for `module.exports = ...` and `exports.name = ...`."""
    targets: list[str] = []
    for _ in range(_MAX_CHAIN):
        left, right = (node.child_by_field_name(field) for field in ("left", "right"))
        if node.type != "assignment_expression" or left is None or right is None:
            break
        targets.append(text_of(left))
        node = right
    named = [each for each in targets if each in _WHOLE or each.startswith(_MEMBERS)]
    if not named:
        return
    target = next((each for each in named if each not in _WHOLE), named[0])
    if target in _WHOLE and node.type == "object":
        yield from _object(node, declared)
    else:
        name = target if target in _WHOLE else f"exports.{target.rpartition('.')[2]}"
        yield from _assigned(name, node, declared)


def _object(node: Node, declared: Declared) -> Iterator[str]:
    for each in node.named_children:
        match each.type:
            case "shorthand_property_identifier":
                yield from _assigned(f"exports.{text_of(each)}", each, declared)
            case "pair":
                key, value = (each.child_by_field_name(field) for field in ("key", "value"))
                if value is not None:
                    yield from _assigned(f"exports.{text_of(key)}", value, declared)
            case "method_definition":
                yield cut(f"exports.{head_of(each, each.child_by_field_name('body'))}")
            case "spread_element":
                yield cut(f"exports {{ {value_of(each)} }}")
            case _:
                pass


def _assigned(target: str, value: Node, declared: Declared) -> Iterator[str]:
    name = text_of(value)
    if name not in declared:
        lines = value_lines(value)
    else:
        node = declared.pop(name)
        initial = initial_value(node, name)
        lines = value_lines(initial) if initial else declaration(node, only=name)
    yield from _prefixed(f"{target} =", lines)


def _prefixed(prefix: str, lines: Iterator[str]) -> Iterator[str]:
    for count, line in enumerate(lines):
        yield line if count or not prefix else cut(f"{prefix} {line}")
