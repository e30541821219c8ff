"""Reads a stub: the declarations that an order makes for one of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.files import declaration_path
from shared.languages.ecmascript.syntax import find_fault, tree_of
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STUB: Final = 256 * 1024  # bytes, as for the stubs of a whole plan
DEFAULT: Final = "default"
_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class"})
WITH_MEMBERS: Final = frozenset({*_CLASSES, "interface_declaration"})
_WRAPPERS: Final = frozenset({"export_statement", "ambient_declaration"})
_UNSAID: Final = frozenset(
    {"export", "declare", "default", "public", ";", ",", "comment", "async", "function", "const",
     "let", "var"}
)  # fmt: skip
_PARAMETERS: Final = frozenset({"required_parameter", "optional_parameter"})
# A model may wrap the stub as it would in a chat; the lines keep their numbers.
_FENCE = re.compile(r"\A```\w*(?=\n)|\n```\s*\Z")
_MAX_SHOWN: Final = 120  # characters of a declaration in a message


@dataclass(frozen=True, slots=True)
class StubFault:
    """Say why a stub cannot be read; `line` counts from 1, and is 0 where none is meant."""

    message: str
    line: int = 0
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Represent a declared name: `Game`, or `Game.play` for a member.

    `forms` are the texts of its declarations without what means nothing: several for overloads.
    `shown` is its text as it was written, on one line.
    """

    name: str
    line: int
    forms: tuple[str, ...]
    shown: str
    is_type: bool = False


@dataclass(frozen=True, slots=True)
class Stub:
    """Hold a stub that parses. `declared` has all names, members included.

    `classes` says, by name, whether a class or an interface has a heritage of its own. `imported`
    are the names that it takes from other files, and `exports` says whether it exports anything.
    """

    path: str
    text: str
    declared: Mapping[str, Declaration]
    classes: Mapping[str, bool]
    imported: frozenset[str]
    exports: bool


def parse_stub(path: str, text: str) -> Stub | StubFault:
    """Return the declarations of the stub of the file at `path`, or why it cannot be read."""
    if len(text) > MAX_STUB:
        return StubFault(f"it has over {MAX_STUB} bytes")
    text = _FENCE.sub(lambda found: "//" if found.start() == 0 else "", text)
    root = tree_of(declaration_path(path), text)
    if root is None:
        return StubFault("it cannot be read")
    if (fault := find_fault(root)) is not None:
        lines = text.splitlines()
        excerpt = lines[fault.line - 1].strip() if fault.line <= len(lines) else ""
        return StubFault(fault.message, fault.line, excerpt[:_MAX_SHOWN])
    declared: dict[str, Declaration] = {}
    for each in _declarations(root):
        known = declared.get(each.name)
        forms = (*(known.forms if known else ()), *each.forms)
        declared[each.name] = replace(known or each, forms=forms)
    classes = {
        text_of(node.child_by_field_name("name")): _has_heritage(node)
        for node, _ in statements(root)
        if node.type in WITH_MEMBERS
    }
    exports = any(each.type == "export_statement" for each in root.named_children)
    return Stub(path, text, declared, classes, frozenset(_imported(root)), exports)


def _has_heritage(node: Node) -> bool:
    return any(each.type in {"class_heritage", "extends_type_clause"} for each in node.children)


def _imported(root: Node) -> Iterator[str]:
    for node in root.named_children:
        if node.type != "import_statement":
            continue
        for clause in node.named_children:
            for each in clause.named_children:
                if each.type == "identifier":
                    yield text_of(each)
                for part in each.named_children if each.type != "identifier" else ():
                    if part.type == "identifier":
                        yield text_of(part)
                    alias = part.child_by_field_name("alias") or part.child_by_field_name("name")
                    if alias is not None:
                        yield text_of(alias)


def statements(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the declarations at the top, each with whether it is the default export."""
    for each in root.named_children:
        if each.type == "comment":
            continue
        node, is_default = each, False
        while node.type in _WRAPPERS:
            is_default |= any(part.type == "default" for part in node.children)
            inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
            if inner is None:
                inner = next((e for e in node.named_children if e.type != "comment"), None)
            if inner is None or inner.type in {"export_clause", "string"}:
                break
            node = inner
        yield node, is_default


def _declarations(root: Node) -> Iterator[Declaration]:
    for node, is_default in statements(root):
        if node.type in {"lexical_declaration", "variable_declaration"}:
            for each in node.named_children:
                if each.type == "variable_declarator":
                    yield _declaration(text_of(each.child_by_field_name("name")), each)
            continue
        name = text_of(node.child_by_field_name("name"))
        if is_default:
            yield _declaration(DEFAULT, node, has_body=not name or node.type not in WITH_MEMBERS)
        if not name:
            continue
        members = node.type in WITH_MEMBERS
        yield _declaration(name, node, has_body=not members)
        if members:
            yield from _members(name, node.child_by_field_name("body"))


def _members(owner: str, body: Node | None) -> Iterator[Declaration]:
    for each in body.named_children if body is not None else ():
        name = text_of(each.child_by_field_name("name"))
        if name and each.type != "comment":
            yield _declaration(f"{owner}.{name}", each)


def _declaration(name: str, node: Node, *, has_body: bool = True) -> Declaration:
    body = None if has_body else node.child_by_field_name("body")
    shown = text_of(node)
    if body is not None:
        shown = shown.partition("{")[0].rstrip()
    if len(shown) > _MAX_SHOWN:
        shown = f"{shown[: _MAX_SHOWN - 4]} ..."
    is_type = node.type in {"interface_declaration", "type_alias_declaration"}
    return Declaration(name, node.start_point.row + 1, (_form(node, body),), shown, is_type)


def _form(node: Node, without: Node | None) -> str:
    """Return the words of a declaration without spaces, comments and names of parameters."""
    words: list[str] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in _UNSAID or (without is not None and each.id == without.id):
            continue
        if each.parent is not None and each.parent.type in _PARAMETERS:
            pattern = each.parent.child_by_field_name("pattern")
            if pattern is not None and pattern.id == each.id and each.type == "identifier":
                words.append("_")
                continue
        if each.children and each.type not in {"string", "template_string"}:
            waiting += reversed(each.children)
        else:
            words.append(text_of(each).replace("'", '"'))
    return " ".join(words)
