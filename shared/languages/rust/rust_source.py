"""Reads a Rust file as its declarations, and what it offers.

A contract is Rust whose functions end in `;`. Both are read in the same way.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import (
    UNREADABLE,
    Declarations,
    Declared,
    Imported,
    Kind,
    Member,
    Offsets,
    block,
    cut,
    fault_at,
    first_fault,
    head_of,
    name_of,
    outlined,
    read_root,
    shown,
    text_of,
    tokens_of,
    value_of,
)
from shared.languages.planned_code import TextFault

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


_TYPES: Final = ("struct_item", "enum_item", "union_item", "trait_item", "type_item")
_FUNCTIONS: Final = ("function_item", "function_signature_item")
_VALUES: Final = ("const_item", "static_item")


def is_test_file(path: str) -> bool:
    """Return whether a file is only compiled for tests, by its place."""
    folders = path.split("/")[:-1]
    name = posixpath.basename(path)
    return "tests" in folders or "benches" in folders or name in ("tests.rs", "test.rs")


@lru_cache(maxsize=64)
def read_rust(text: str) -> Declarations:
    """Return the declarations of a Rust file, without those of modules inside. Never raises."""
    import tree_sitter_rust

    root = read_root(tree_sitter_rust.language, text)
    if root is None:
        return Declarations(text, fault=UNREADABLE)
    reader = _RustReader(text)
    items = tuple(reader.items(root.named_children))
    imports = tuple(each for node in root.named_children for each in reader.imports(node))
    fault = first_fault(root, text) or _outside(root, text)
    return Declarations(text, items, imports, fault)


def _outside(root: Node, text: str) -> TextFault | None:
    """Return the fault of a statement outside of functions, which the reader allows."""
    for node in root.named_children:
        inner = node.named_children[0] if node.type == "expression_statement" else node
        if node.type == "let_declaration" or (
            node.type == "expression_statement" and inner.type != "macro_invocation"
        ):
            return fault_at(node, text, "a statement stands outside of functions")
    return None


class _RustReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._offsets = Offsets(text)

    def imports(self, node: Node) -> Iterator[Imported]:
        if node.type != "use_declaration":
            return
        line, text, place = node.start_point[0] + 1, shown(node), self._at(node)
        for name, source in imported_paths(node.child_by_field_name("argument")):
            yield Imported(name, source, line, text, *place)

    def items(
        self, nodes: Sequence[Node], owner: str = "", around: str = "", *, public: bool = False
    ) -> Iterator[Declared]:
        first: Node | None = None  # of the attributes above an item
        for node in nodes:
            if node.type == "attribute_item":
                first = first or node
                continue
            if node.type.endswith("comment"):
                continue
            yield from self._item(node, first or node, owner, around, public)
            first = None

    def _item(
        self, node: Node, first: Node, owner: str, around: str, public: bool
    ) -> Iterator[Declared]:
        body = node.child_by_field_name("body")
        if node.type == "impl_item":
            yield from self._implementation(node, first, body)
        elif node.type in _FUNCTIONS:
            yield self._function(node, first, body, owner, around, public)
        elif node.type in _TYPES:
            members = _members(body)
            key = f"{node.type} {_typed(node)} {'' if members else tokens_of(body)}"
            yield self._plain(node, first, "type", key, owner, members, around)
        elif node.type in _VALUES:
            key = f"{node.type} {tokens_of(node.child_by_field_name('type'))}"
            yield self._plain(node, first, "value", key, owner, {}, around, public=public)
        elif node.type in ("mod_item", "macro_definition"):
            yield self._plain(node, first, "module", node.type, owner, {}, around)

    def _implementation(self, node: Node, first: Node, body: Node | None) -> Iterator[Declared]:
        trait = node.child_by_field_name("trait")
        of = text_of(node.child_by_field_name("type")).split("<")[0].rpartition("::")[2].strip("& ")
        head = head_of(node, body).strip(" {;")
        if trait is None:
            yield from self.items(body.named_children if body else (), of, head)
            return
        name = f"{text_of(trait)} for {of}"
        start, end = self._at(first)[0], self._at(node)[1]
        line = node.start_point[0] + 1
        text = self._text[start:end]
        yield Declared(name, "implementation", head, name, line, start, end, False, text=text)
        yield from self.items(body.named_children if body else (), of, head)

    def _function(
        self, node: Node, first: Node, body: Node | None, owner: str, around: str, public: bool
    ) -> Declared:
        name = name_of(node)
        start, end = self._at(first)[0], self._at(node)[1]
        stop = self._at(body)[0] if body is not None else end
        return Declared(
            name=f"{owner}.{name}" if owner else name,
            kind="function",
            head=head_of(node, body).strip(" ;"),
            key=_signature_key(node),
            line=node.start_point[0] + 1,
            start=start,
            end=end,
            is_public=public or _is_public(node),
            body=self._at(body) if body is not None else None,
            around=around,
            text=self._text[start:end],
            opening=self._text[start:stop].strip(" ;\n"),
            result=text_of(node.child_by_field_name("return_type")),
        )

    def _plain(
        self,
        node: Node,
        first: Node,
        kind: Kind,
        key: str,
        owner: str,
        members: Mapping[str, Member],
        around: str,
        *,
        public: bool = False,
    ) -> Declared:
        name = name_of(node)
        return Declared(
            name=f"{owner}.{name}" if owner else name,
            kind=kind,
            head=shown(node),
            key=key,
            line=node.start_point[0] + 1,
            start=self._at(first)[0],
            end=self._at(node)[1],
            is_public=public or _is_public(node) or node.type == "macro_definition",
            members=members,
            around=around,
            text=self._text[self._at(first)[0] : self._at(node)[1]],
            separator=" " if node.type == "trait_item" else ", ",
            result=text_of(node.child_by_field_name("type")) if kind == "value" else "",
        )

    def _at(self, node: Node) -> tuple[int, int]:
        at = self._offsets.character
        return at(node.start_byte), at(node.end_byte)


def _signature_key(node: Node) -> str:
    """Return the types of a function, without the names of its parameters."""
    kinds: list[str] = []
    parameters = node.child_by_field_name("parameters")
    for each in parameters.named_children if parameters is not None else ():
        match each.type:
            case "parameter":
                kinds.append(tokens_of(each.child_by_field_name("type")))
            case "self_parameter":
                kinds.append(tokens_of(each).removeprefix("mut "))
            case _:
                pass
    words = [each.type for each in node.children if each.type == "function_modifiers"]
    generics = tokens_of(node.child_by_field_name("type_parameters"))
    result = tokens_of(node.child_by_field_name("return_type")) or "( )"
    return f"fn {' '.join(words)}{generics}({', '.join(kinds)}) -> {result}"


def _typed(node: Node) -> str:
    parts = ("type_parameters", "type", "bounds")
    return " ".join(filter(None, (tokens_of(node.child_by_field_name(each)) for each in parts)))


def _members(body: Node | None) -> dict[str, Member]:
    """Return the named fields, the variants or the methods that a type lists."""
    if body is None or body.type == "ordered_field_declaration_list":
        return {}
    found: dict[str, Member] = {}
    for each in body.named_children:
        name = name_of(each)
        if not name:
            continue
        if each.type in _FUNCTIONS:
            found[name] = Member(text_of(each), _signature_key(each))
        elif each.type in ("field_declaration", "enum_variant", "associated_type", "const_item"):
            kinds = [tokens_of(each.child_by_field_name(part)) for part in ("type", "body")]
            found[name] = Member(text_of(each), " ".join(kinds))
    return found


def _is_public(node: Node) -> bool:
    return any(each.type == "visibility_modifier" for each in node.named_children)


_PUBLIC_NAMES_MAX_DEPTH: Final = 4  # of modules within each other
_TESTS: Final = re.compile(r"#\[\s*(?:cfg\s*\(\s*test\s*\)|test\s*\])")
_DERIVE: Final = re.compile(r"#\[\s*derive\b")
_EXPORTED_MACRO: Final = "macro_export"


def public_names(path: str, text: str) -> tuple[str, ...] | None:
    """Return a line for each public item, without bodies; tests are left out.

    The result is empty if nothing is public, and `None` if the text is not Rust.
    """
    import tree_sitter_rust

    return outlined(tree_sitter_rust.language, text, lambda root: _items(root.named_children))


def _items(nodes: Sequence[Node], depth: int = _PUBLIC_NAMES_MAX_DEPTH) -> Iterator[str]:
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
            yield from block(head_of(node, body), _members_public_names(body, of_trait=True))
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
    elif body is not None and (members := [*_members_public_names(body, of_trait=False)]):
        yield from block(head_of(node, body), members)


def _members_public_names(body: Node, *, of_trait: bool) -> Iterator[str]:
    for each in body.named_children:
        match each.type:
            case "function_item" | "function_signature_item" | "const_item":
                if of_trait or _is_public(each):
                    yield head_of(each, each.child_by_field_name("body")).rstrip(";") + ";"
            case "associated_type" if of_trait:
                yield shown(each)
            case _:
                pass
