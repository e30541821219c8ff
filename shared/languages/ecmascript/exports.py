"""Renders what a file exports, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import (
    block,
    cut,
    head_of,
    name_of,
    outlined,
    shown,
    text_of,
    value_of,
)
from shared.languages.ecmascript.ecmascript_syntax import CLASSES, FUNCTIONS, VARIABLES, grammar_of

if TYPE_CHECKING:
    from tree_sitter import Node


_MAX_DEPTH: Final = 3  # of namespaces within each other
_FUNCTIONS: Final = FUNCTIONS | {"function_expression", "generator_function"}
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
    if node.type in VARIABLES:
        for each in node.named_children:
            if each.type == "variable_declarator":
                yield name_of(each)
    elif node.type.endswith("_declaration") and (name := node.child_by_field_name("name")):
        yield text_of(name)


def declaration(node: Node, depth: int = _MAX_DEPTH, *, only: str = "") -> Iterator[str]:
    """Yield the lines of a declaration; `only` names the one variable that is meant."""
    body = node.child_by_field_name("body")
    kind = node.type
    if kind in _FUNCTIONS:
        yield head_of(node, body).rstrip(";")
    elif kind in CLASSES or kind == "interface_declaration":
        yield from block(head_of(node, body), _members(body))
    elif kind in VARIABLES:
        yield from _variables(node, only)
    elif kind in _NAMESPACES:
        yield from block(head_of(node, body), _namespace(body, depth))
    elif kind == "expression_statement" and node.named_children and depth:
        yield from declaration(node.named_children[0], depth - 1)  # a namespace is inside one
    elif kind == "ambient_declaration":
        yield from _ambient(node, depth)
    else:  # a type alias or an enum
        yield shown(node).rstrip(";")


def initial_value(node: Node, name: str) -> Node | None:
    """Return the value that a declaration of variables gives `name`, if it does."""
    for each in node.named_children if node.type in VARIABLES else ():
        if name_of(each) == name:
            return each.child_by_field_name("value")
    return None


def value_lines(node: Node) -> Iterator[str]:
    """Yield the lines of a value that is exported: a function, a class, or anything else."""
    if node.type == "arrow_function":
        yield cut(f"{head_of(node, node.child_by_field_name('body'))} ...")
    elif node.type in _FUNCTIONS or node.type in CLASSES:
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


_MAX_CHAIN: Final = 10  # of `a = b = value`
_WHOLE: Final = ("module.exports", "exports")
_MEMBERS: Final = tuple(f"{each}." for each in _WHOLE)

# The declarations by their names. One that was shown is taken out, so that a large class which a
# file exports under a thousand names is shown once.
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
    name = name_of(node)
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


def public_names(path: str, text: str) -> tuple[str, ...] | None:
    """Return a line for each export, and for each public member of a type, without bodies.

    The result is empty if nothing is exported, or a tool has made the code small, and `None` if the
    text is not code.
    """
    return () if path.endswith(".min.js") else outlined(grammar_of(path), text, exports)
