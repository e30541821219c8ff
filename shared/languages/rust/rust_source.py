"""Reads a Rust file as its declarations.

A contract is Rust whose functions end in `;`. Both are read in the same way.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import (
    UNREADABLE,
    DeclarationReader,
    Declarations,
    Declared,
    Imported,
    Kind,
    Member,
    fault_at,
    first_fault,
    head_of,
    name_of,
    read_root,
    shown,
    text_of,
    text_without,
    tokens_of,
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


_FUNCTIONS: Final = ("function_item", "function_signature_item")
_TYPES: Final = ("struct_item", "enum_item", "union_item", "trait_item", "type_item")
_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(_FUNCTIONS, "function"),
    **dict.fromkeys(_TYPES, "type"),
    **dict.fromkeys(("const_item", "static_item"), "value"),
    **dict.fromkeys(("mod_item", "macro_definition"), "module"),
}


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
    imports = tuple(reader.imports(root.named_children))
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


class _RustReader(DeclarationReader):
    def imports(self, nodes: Sequence[Node]) -> Iterator[Imported]:
        first: Node | None = None  # of the attributes above a `use`
        for node in nodes:
            if node.type == "attribute_item":
                first = first or node
            elif node.type == "use_declaration":
                place = self.at(first or node)[0], self.at(node)[1]
                line, text = node.start_point[0] + 1, self.text[slice(*place)]  # whole, to write
                for name, source in imported_paths(node.child_by_field_name("argument")):
                    yield Imported(name, source, line, text, *place)
            if node.type != "attribute_item" and not node.type.endswith("comment"):
                first = None

    def items(self, nodes: Sequence[Node], owner: str = "", around: str = "") -> Iterator[Declared]:
        first: Node | None = None  # of the attributes above an item
        for node in nodes:
            if node.type == "attribute_item":
                first = first or node
                continue
            if node.type.endswith("comment"):
                continue
            place = self.at(first or node)[0], self.at(node)[1]
            if node.type == "impl_item":
                yield from self._implementation(node, place)
            elif node.type in _KINDS:
                yield self._item(node, place, owner, around)
            first = None

    def _implementation(self, node: Node, place: tuple[int, int]) -> Iterator[Declared]:
        trait, body = node.child_by_field_name("trait"), node.child_by_field_name("body")
        of = text_of(node.child_by_field_name("type")).split("<")[0].rpartition("::")[2].strip("& ")
        # Whole, since edits and contracts write it, and without comments, to stand on one line.
        parts = [(body.start_byte, body.end_byte)] if body is not None else []
        head = " ".join(text_without(node, parts).split()).strip(" {;")
        if trait is not None:
            name = f"{text_of(trait)} for {of}"
            line, text = node.start_point[0] + 1, self.text[slice(*place)]
            yield Declared(name, "implementation", head, name, line, *place, False, text=text)
        yield from self.items(body.named_children if body else (), of, head)

    def _item(self, node: Node, place: tuple[int, int], owner: str, around: str) -> Declared:
        kind, name = _KINDS[node.type], name_of(node)
        body, typed = (node.child_by_field_name(each) for each in ("body", "type"))
        name = f"{owner}.{name}" if owner else name
        head = head_of(node, body).strip(" ;") if kind == "function" else shown(node)
        key, result, opening, separator = node.type, "", "", "\n"
        members: Mapping[str, Member] = {}
        start, end = place
        if kind == "function":
            stop = self.at(body)[0] if body is not None else end
            key, opening = _signature_key(node), self.text[start:stop].strip(" ;\n")
            result = text_of(node.child_by_field_name("return_type"))
        elif kind == "type":
            members = _members(body)
            key = f"{node.type} {_typed(node)} {'' if members else tokens_of(body)}"
            where = (each for each in node.named_children if each.type == "where_clause")
            result = tokens_of(next(where, None))
            separator = " " if node.type == "trait_item" else ", "
        elif kind == "value":
            key, result = f"{node.type} {tokens_of(typed)}", text_of(typed)
        return Declared(
            name=name,
            kind=kind,
            head=head,
            key=key,
            line=node.start_point[0] + 1,
            start=start,
            end=end,
            is_public=_is_public(node) or node.type == "macro_definition",
            body=self.body_at(body) if kind == "function" else None,
            members=members,
            around=around,
            text=self.text[start:end],
            opening=opening,
            result=result,
            separator=separator,
            marked=self.at(node)[0] - start,
        )


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
    words = [tokens_of(each) for each in node.children if each.type == "function_modifiers"]
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
