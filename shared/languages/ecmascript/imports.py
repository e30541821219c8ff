"""Finds what a source file imports, in every form that JavaScript and TypeScript have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.syntax import string_value, walk
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MOCKS: Final = frozenset({"mock", "doMock", "unmock", "requireActual", "importActual"})
_MOCKERS: Final = frozenset({"jest", "vi"})
_EXPECTS_FAILURE: Final = frozenset({"throws", "rejects", "toThrow", "toThrowError"})
_MAX_DEPTH: Final = 40  # of nodes above an import that may guard it


@dataclass(frozen=True, slots=True)
class Import:
    """Represent one import of a module.

    `names` are the names that are taken from it, as the module calls them; `default` where its
    default export is. `line` counts from 1. `is_erased` says that only types are imported, and
    `is_guarded` that the code copes with a failure. A package that `mock` names need not exist.
    """

    specifier: str
    line: int
    names: tuple[str, ...] = ()
    is_erased: bool = False
    is_guarded: bool = False
    is_mocked: bool = False


def imports_of(root: Node) -> Iterator[Import]:
    """Yield the imports of a module whose specifiers are plain strings."""
    for node in walk(root):
        match node.type:
            case "import_statement" | "export_statement":
                yield from _statement(node)
            case "call_expression":
                yield from _call(node)
            case _:
                pass


def _statement(node: Node) -> Iterator[Import]:
    source = node.child_by_field_name("source")
    if source is None:  # `import a = require("a")`
        clause = next((e for e in node.named_children if e.type == "import_require_clause"), None)
        source = clause.child_by_field_name("source") if clause else None
    specifier = string_value(source)
    if specifier is None:
        return
    names = tuple(_taken_names(node))
    is_erased = any(each.type == "type" for each in node.children)
    yield Import(specifier, node.start_point.row + 1, names, is_erased)


def _taken_names(node: Node) -> Iterator[str]:
    for each in walk(node):
        if each.type in {"import_specifier", "export_specifier"}:
            name = text_of(each.child_by_field_name("name"))
            if name and not any(child.type == "type" for child in each.children):
                yield name.strip("\"'")
        elif each.type == "import_clause" and _begins_with(each) == "identifier":
            yield "default"


def _begins_with(node: Node) -> str:
    return node.named_children[0].type if node.named_children else ""


def _call(node: Node) -> Iterator[Import]:
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_children[0] if arguments and arguments.named_children else None
    specifier = string_value(first)
    if function is None or specifier is None:
        return
    line = node.start_point.row + 1
    called = text_of(function)
    if called in {"import", "require", "require.resolve"}:
        names = tuple(_destructured(node))
        yield Import(specifier, line, names, is_guarded=_is_guarded(node))
    owner, _, member = called.partition(".")
    if owner in _MOCKERS and member in _MOCKS:
        yield Import(specifier, line, is_mocked=True)


def _destructured(node: Node) -> Iterator[str]:
    """Yield the names that `const { a, b: c } = require(...)` takes."""
    value = node
    if value.parent is not None and value.parent.type == "await_expression":
        value = value.parent
    holder = value.parent
    if holder is None or holder.type != "variable_declarator":
        return
    pattern = holder.child_by_field_name("name")
    for each in pattern.named_children if pattern and pattern.type == "object_pattern" else ():
        if each.type == "shorthand_property_identifier_pattern":
            yield text_of(each)
        elif each.type == "pair_pattern":
            yield text_of(each.child_by_field_name("key")).strip("\"'")
        elif each.type == "object_assignment_pattern":
            yield text_of(each.child_by_field_name("left"))


def _is_guarded(node: Node) -> bool:
    """Say whether the import stands under a condition, or where a failure is expected."""
    above = node.parent
    for _ in range(_MAX_DEPTH):
        if above is None:
            return False
        if above.type in {"try_statement", "if_statement", "ternary_expression"}:
            return True
        if above.type == "call_expression":
            called = text_of(above.child_by_field_name("function")).rpartition(".")[2]
            if called in _EXPECTS_FAILURE or called == "catch":
                return True
        above = above.parent
    return False
