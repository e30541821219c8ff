"""Reads a Rust file, or the contract of one, as its declarations.

A contract is Rust whose functions end in `;`. Both are read in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.declared.model import Declarations, Declared, Fault, Imported, Kind, Member
from shared.languages.declared.nodes import (
    UNREADABLE,
    Offsets,
    fault_at,
    first_fault,
    read_root,
    tokens_of,
)
from shared.languages.rust.paths import imported_paths
from shared.languages.syntax_tree import head_of, shown, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES: Final = ("struct_item", "enum_item", "union_item", "trait_item", "type_item")
_FUNCTIONS: Final = ("function_item", "function_signature_item")
_VALUES: Final = ("const_item", "static_item")


@lru_cache(maxsize=64)
def read_rust(text: str) -> Declarations:
    """Return the declarations of a Rust file, without those of modules inside. Never raises."""
    import tree_sitter_rust

    root = read_root(tree_sitter_rust.language, text)
    if root is None:
        return Declarations(text, fault=UNREADABLE)
    reader = _Reader(text)
    items = tuple(reader.items(root.named_children))
    imports = tuple(each for node in root.named_children for each in reader.imports(node))
    fault = first_fault(root, text) or _outside(root, text)
    return Declarations(text, items, imports, fault)


def _outside(root: Node, text: str) -> Fault | None:
    """Return the fault of a statement that stands outside of functions, which the reader allows."""
    for node in root.named_children:
        inner = node.named_children[0] if node.type == "expression_statement" else node
        if node.type == "let_declaration" or (
            node.type == "expression_statement" and inner.type != "macro_invocation"
        ):
            return fault_at(node, text, "a statement stands outside of functions")
    return None


class _Reader:
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
        name = text_of(node.child_by_field_name("name"))
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
        name = text_of(node.child_by_field_name("name"))
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
        name = text_of(each.child_by_field_name("name"))
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
